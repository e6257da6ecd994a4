const pages = {{index}};
const box = document.querySelector("input[name=q]"), list = document.getElementById("found");
const SMALL = new Set("a an and do for how i in is it my of on the to what with your".split(" "));
const SAME = {license: "licence", dataset: "datasets", tutorial: "lecture", docs: "reference"};
function find() {
  const typed = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const large = typed.filter(w => !SMALL.has(w));
  const words = (large.length ? large : typed).map(w => SAME[w] ?? w);
  // The guide comes before the reference, and in the reference what one imports before what is inside.
  const rank = address => (/^reference/.test(address) ? -8 * address.split("#")[0].split("/").length : /-py|^contributing/.test(address) ? -15 : 0);
  const score = ([address, title, text]) => {
    const name = title.split(" · ")[0].toLowerCase();
    const found = words.filter(w => `${title} ${text}`.toLowerCase().includes(w)).length;
    if (!found) return 0;
    const named = words.filter(w => name.includes(w)).length + 3 * (`.${name}`.endsWith(`.${words.join(" ")}`));
    return 500 * found + 15 * named + rank(address) - name.length / 10;
  };
  const all = pages.map(page => [score(page), page]).filter(([s]) => s > 0).sort(([a], [b]) => b - a);
  const whole = all.filter(([s]) => s > 500 * words.length - 300);
  const found = (whole.length ? whole : all).slice(0, 30);
  const nothing = whole.length ? "" : found.length ? "No page has all these words. Some of them are here:" : "Nothing has these words.";
  document.getElementById("count").textContent = words.length ? nothing : "";
  list.replaceChildren(...found.map(([, [address, title, text]]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = address;
    link.textContent = title;
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
    const part = text.slice(at, at + 180).split(" "); // its first and last words may be cut
    item.append(link, document.createElement("br"), part.slice(at ? 1 : 0, at + 180 < text.length ? -1 : undefined).join(" "));
    return item;
  }));
}
box.value = new URLSearchParams(location.search).get("q") ?? "";
box.addEventListener("input", find);
box.focus();
find();
