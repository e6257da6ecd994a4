// A slide: what matters most, large, without what is around it (.presenting in the styles).

import {$, listen, press} from "./elements.js";

export const isPresenting = () => document.body.classList.contains("presenting");

// The button Present begins and ends it, Escape ends it; `draw` shows the change.
export function listenToPresent(draw) {
  const present = on => {
    document.body.classList.toggle("presenting", on);
    press("present", on);
    $("present").blur(); // space plays
    draw();
  };
  listen({present: () => present(!isPresenting())});
  // also after a click on a slide's other buttons
  addEventListener("click", (/** @type {any} */ {detail, target}) => detail && isPresenting() && target.blur());
  document.addEventListener("keydown", ({key}) => key === "Escape" && isPresenting() && present(false), true);
}
