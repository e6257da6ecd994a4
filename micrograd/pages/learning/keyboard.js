// Keys: left and right step everywhere except in text fields, space plays, Escape closes.

import {$} from "../shared/elements.js";
import {listenToKeys} from "../shared/keys.js";

//   oneStep, undo, train, close: what the keys do;  stepOpened(by): the same within the panel of arithmetic
//   rate(up)  up or down in the field of the learning rate
export function listenToTraining({oneStep, undo, train, close, stepOpened, rate}) {
  const step =
    (by, action) =>
    ({target}) =>
      $("arithmetic").contains(target) ? stepOpened(by) : action();
  const keys = {ArrowRight: step(1, oneStep), ArrowLeft: step(-1, undo), " ": train, Escape: close};
  // Up and down: the learning rate to the next of 0.1, 0.2, 0.3, ..., a weight by a tenth.
  listenToKeys(keys, event => {
    const {target, key} = event;
    const up = {ArrowUp: 1, ArrowDown: -1}[key];
    if (key === "Escape") close();
    if (!up || !target.matches("#rate, .weight input")) return;
    event.preventDefault();
    if (target.id === "rate") return rate(up > 0);
    target.value = Math.round(10 * (+target.value + 0.1 * up)) / 10;
    target.dispatchEvent(new Event("change"));
  });
}
