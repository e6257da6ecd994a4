// Keys: left and right step everywhere except in text fields, space plays, Escape closes.

//   oneStep, undo, train, close: what the keys do;  stepOpened(by): the same within the panel of arithmetic
//   rate(up)  up or down in the field of the learning rate
function listenToKeys({oneStep, undo, train, close, stepOpened, rate}) {
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {target, key} = event;
    if (key === "Escape") return close();
    if (target.matches("input[type=number], input[type=text], textarea, select")) return turn(event);
    const isButton = target.matches("button, summary, a, input, [role=button]");
    const actions = {ArrowRight: oneStep, ArrowLeft: undo, " ": train};
    if (!(key in actions) || key === " " && isButton) return;
    event.preventDefault();
    event.stopPropagation();
    if (element("arithmetic").contains(target) && key !== " ") stepOpened(key === "ArrowRight" ? 1 : -1);
    else actions[key]();
  }, true);

  // Up and down: the learning rate to the next of 0.1, 0.2, 0.3, ..., a weight by a tenth.
  function turn(event) {
    const up = {ArrowUp: 1, ArrowDown: -1}[event.key], {target} = event;
    if (!up || !target.matches("#rate, .weight input")) return;
    event.preventDefault();
    if (target.id === "rate") return rate(up > 0);
    target.value = Math.round(10 * (+target.value + 0.1 * up)) / 10;
    target.dispatchEvent(new Event("change"));
  }
}
