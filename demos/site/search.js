const pages = {{index}};
const box = document.querySelector("input[name=q]"), list = document.getElementById("found");
function find() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const score = ([address, title, text]) => {
    const name = title.split(" · ")[0].toLowerCase();
    if (!words.length || !words.every(w => `${title} ${text}`.toLowerCase().includes(w))) return 0;
    const named = words.filter(w => name.includes(w)).length + 2 * (name === words.join(" "));
    return 100 + 10 * named + 5 * !/^reference|-py/.test(address) + /^index/.test(address) - name.length / 10;
  };
  const found = pages.map(page => [score(page), page]).filter(([s]) => s > 0).sort(([a], [b]) => b - a).slice(0, 30);
  document.getElementById("count").textContent = !words.length ? "" : found.length ? "" : "Nothing has all these words.";
  list.replaceChildren(...found.map(([, [address, title, text]]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = address;
    link.textContent = title;
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
    item.append(link, document.createElement("br"), text.slice(at, at + 180));
    return item;
  }));
}
box.value = new URLSearchParams(location.search).get("q") ?? "";
box.addEventListener("input", find);
find();
