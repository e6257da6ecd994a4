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
  document.addEventListener("keydown", ({key}) => key === "Escape" && isPresenting() && present(false), true);
}
