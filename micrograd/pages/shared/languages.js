// A page in several languages, each part of it a text, or a text for each language. It is written here, in the language
// of its address, of the browser, or the first one. A choice from the menu writes it again from its address, which has
// the state; in a frame without an address, from the beginning. A document can be opened only when it has ended.
addEventListener("DOMContentLoaded", () => {
  const {languages, parts, labels} = JSON.parse(document.getElementById("data")?.textContent ?? "");
  const address = () => new URLSearchParams(location.hash.slice(1));
  const known = [address().get("language"), ...navigator.languages.map(x => x.slice(0, 2))];
  const k = Math.max(0, languages.indexOf(known.find(x => languages.includes(x))));
  document.open();
  document.write(parts.map(part => (typeof part === "string" ? part : part[k])).join(""));
  document.close();
  const menu = document.createElement("select");
  menu.id = "language";
  menu.setAttribute("aria-label", labels[k]);
  menu.append(...languages.map((name, j) => new Option(named(name), name, j === k, j === k)));
  menu.onchange = () => {
    dispatchEvent(new Event("leaving")); // the address of now
    const state = address();
    state.set("language", menu.value);
    location.hash = String(state).replace(/=(?=&|$)/g, "");
    location.reload();
  };
  (document.querySelector("#menu, #more") ?? document.querySelector("header"))?.append(menu);
  addEventListener("hashchange", () => {
    if ((address().get("language") ?? menu.value) !== languages[k]) location.reload();
  });

  // A language in its own words: Deutsch.
  function named(name) {
    try {
      return new Intl.DisplayNames([name], {type: "language"}).of(name) ?? name;
    } catch {
      return name;
    }
  }
});
