// The state of a page at the end of its address, #step=7&rate=0.3, so that a link shows it again.

export const readAddress = (hash = location.hash) => new URLSearchParams(hash.slice(1));

// Calls `begin` with the address of another link, in the same window. What the page writes itself is not an event.
export const listenToLinks = begin => addEventListener("hashchange", ({newURL}) => begin(new URL(newURL).hash));

let pending = 0;
// Writes what `state` returns: names and texts. A page that writes often waits, so that the last state counts.
export function writeAddress(state, wait = 0) {
  clearTimeout(pending);
  const write = () => {
    const text = String(new URLSearchParams(state())).replace(/=(?=&|$)/g, "");
    try {
      history.replaceState(null, "", `#${text}`);
    } catch {
      // a frame without an address
    }
  };
  if (wait) pending = setTimeout(write, wait);
  else write();
}
