// Bars that show a share of a whole.

import {make} from "./elements.js";

// A bar with its name and an element or a text behind it.
export function bar(name, share, value, kind = "", wide = "") {
  const line = make("i", {class: kind, style: `width:${100 * share}%`});
  return make("div", `bar ${wide}`, make("span", "", name), make("span", "track", line), value);
}
