// Words of the field, explained where they stand: to a pointer, on focus, and to screen readers.

import {make} from "./elements.js";

// The words of a graph by name, and what they mean by name.means.
export const WORDS = JSON.parse("{{word.*}}");

// A word with an explanation. In a button it cannot have the focus.
export const word = (name, text, isFree = true) => make("dfn", {"data-word": name, ...(isFree && {tabindex: 0})}, text);

export const termOf = name => word(name, WORDS[name]);

// Explains every element with data-word, now and later; meaningOf(name) is the explanation.
export function explainWords(meaningOf) {
  const tip = make("div", {id: "meaningOf", role: "tooltip", hidden: ""});
  document.body.append(tip);
  for (const free of document.querySelectorAll("dfn, [data-word]:not(label *)")) free.tabIndex = 0;
  const tell = ({target}) => {
    const term = target.closest?.("[data-word]");
    tip.hidden = !term;
    if (!term) return;
    tip.textContent = meaningOf(term.dataset.word);
    term.setAttribute("aria-describedby", tip.id);
    const place = term.getBoundingClientRect();
    const below = place.bottom + tip.offsetHeight + 8 < innerHeight;
    tip.style.top = `${scrollY + (below ? place.bottom + 6 : place.top - tip.offsetHeight - 6)}px`;
    const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(place.left, most))}px`;
  };
  document.addEventListener("pointerover", tell);
  document.addEventListener("focusin", tell);
  document.addEventListener("keydown", ({key}) => key === "Escape" && (tip.hidden = true), true);
}
