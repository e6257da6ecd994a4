// The state of a page: what Undo goes back to, and the end of its address, #step=7&rate=0.3, so that a link shows it
// again.

// States to go back to: `kept()` copies what a change may change, `restore(copy)` brings it back.
export class Past {
  constructor(kept, restore) {
    this.kept = kept;
    this.restore = restore;
    this.states = [];
  }
  // Keeps the present. Changes with the same name, as the small moves of one turn of a knob, are undone together.
  remember(name = "") {
    if (name && this.states.at(-1)?.name === name) return;
    this.states = [...this.states, {name, kept: this.kept()}].slice(-100);
  }
  undo() {
    const before = this.states.pop();
    if (before) this.restore(before.kept);
  }
}

export const readAddress = (hash = location.hash) => new URLSearchParams(hash.slice(1));

// Calls `begin` with the address of another link, in the same window. What the page writes itself is not an event.
export const listenToLinks = begin => addEventListener("hashchange", ({newURL}) => begin(new URL(newURL).hash));

let pending = 0,
  writeNow = () => {};
addEventListener("leaving", () => writeNow()); // for another language
// Writes what `state` returns: names and texts. A page that writes often waits, so that the last state counts.
export function writeAddress(state, wait = 0) {
  clearTimeout(pending);
  writeNow = () => {
    const language = readAddress().get("language");
    const whole = {...state(), ...(language && {language})};
    const text = String(new URLSearchParams(whole)).replace(/=(?=&|$)/g, "");
    try {
      history.replaceState(null, "", `#${text}`);
    } catch {
      // a frame without an address
    }
  };
  if (wait) pending = setTimeout(writeNow, wait);
  else writeNow();
}
