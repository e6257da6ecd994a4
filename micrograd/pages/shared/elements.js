// Elements of the page: one is found by its id, or made.

/** @type {(id: string) => any} */
export const $ = id => document.getElementById(id);

const DRAWN = /^(svg|g|rect|path|text|tspan|circle|poly\w+|title)$/; // elements of a drawing

/**
 * An element: make("p", "faint", "text", child, ...). Instead of a class, an object may give attributes, and
 * functions by the event that calls them. Texts go into the page as text, never as markup.
 * @returns {any}
 */
export function make(tag, about = {}, ...contents) {
  const made = DRAWN.test(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [key, value] of Object.entries(typeof about === "object" ? about : about ? {class: about} : {}))
    if (typeof value === "function") made.addEventListener(key, value);
    else made.setAttribute(key, value);
  made.append(...contents);
  return made;
}

export const strong = (text, kind = "") => make("b", kind, text);
export const button = (text, click, name = "") => make("button", name ? {click, "aria-label": name} : {click}, text);
// A row of a table, with cells of texts or elements; `kind` is td, or th for a row of headings.
export const row = (cells, kind = "td") => make("tr", "", ...cells.map(cell => make(kind, "", cell)));

// A bar of a share from 0 to 1, between its name and its number.
export function bar(name, share, said, kind = "", wide = "") {
  const track = make("span", "track", make("i", {class: kind, style: `width: ${100 * share}%`}));
  return make("div", `bar ${wide}`, make("span", "", name), track, strong(said, `number ${kind}`));
}

// Listens to elements: what each does, by its id.
export function listen(actions, event = "click") {
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener(event, action);
}

// Says which switch is on.
export const press = (id, isOn) => $(id).setAttribute("aria-pressed", isOn);
