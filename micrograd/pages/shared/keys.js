// Keys that work wherever the focus is, except in text fields.

const TEXT_FIELD = "input[type=number], input[type=text], textarea, select";

// `actions` by key: each gets the event. `inField` gets the events of text fields.
export function listenToKeys(actions, inField = event => event) {
  const press = event => {
    const {target, key} = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches(TEXT_FIELD)) return inField(event);
    // Space presses what has the focus; the arrows never turn it.
    if (key === " " && target.matches("button, summary, a, input, [role=button]")) return;
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    event.stopPropagation();
    actions[key](event);
  };
  document.addEventListener("keydown", press, true);
}
