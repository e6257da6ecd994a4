// What the panel of details shows: a point, or a weight with its update; at first, how it all works.
// Names and numbers go into the page as text, never as markup.

// An element: make("p", "faint", "text", child, ...).
function make(tag, className, ...contents) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...contents);
  return made;
}
const strong = (text, kind = "") => make("b", kind, text);
const word = (text, name = text) => {
  const made = make("span", "word", text);
  made.dataset.word = name;
  return made;
};
function button(text, action, name = "") {
  const made = make("button", "", text);
  if (name) made.setAttribute("aria-label", name);
  made.addEventListener("click", action);
  return made;
}
function field(name, value, action, shown = name) {
  const input = make("input");
  input.type = "number";
  input.step = "any";
  input.value = +value.toPrecision(4);  // as many digits as elsewhere
  input.setAttribute("aria-label", name);
  input.addEventListener("change", () => {
    if (input.value !== "" && Number.isFinite(+input.value)) action(+input.value);
  });
  return make("label", "field", shown, input);
}

// The formulas of the update of a weight, with its numbers: pairs of text and what it says.
function updateLines(name, figures, k) {
  const {w, g, d, m, s, v, mean, root, pulled, next} = figures, n = inFormula;
  const lines = [["gradient", `g = ${number(g)}`, "over all training points"]];
  if (name === "AdamW" && k.decay)
    lines.push(["", `w ← w − ${n(k.rate)} × ${n(k.decay)} × w = ${number(pulled)}`, "penalty"]);
  else if (k.decay)
    lines.push(["gradient", `g + ${n(k.decay)} × w = ${number(d)}`, "with the penalty"]);
  if (name === "Momentum")
    lines.push(["gradient", `v ← ${n(k.momentum)} v + g = ${number(v)}`, "velocity"]);
  if (name.startsWith("Adam")) {
    const [a, b] = k.betas, rest = beta => +(1 - beta).toPrecision(3);
    lines.push(["gradient", `m ← ${a} m + ${rest(a)} g = ${number(m)}`, "first moment: mean of g"],
               ["gradient", `s ← ${b} s + ${rest(b)} g² = ${number(s)}`, "second moment: mean of g²"],
               ["gradient", `m̂ / √ŝ = ${n(mean)} / ${n(root)}`, "both corrected for their start at 0"]);
  }
  const direction = name === "SGD" ? d : name === "Momentum" ? v : mean / root;
  const step = `w ← ${number(pulled ?? w)} − ${n(k.rate)} × ${n(direction)} = ${number(next)}`;
  lines.push(["", step, "the step"]);
  return lines;
}

function weightPanel({name, from, to, figures, optimizer, settings, nudge, onSet, onClose}) {
  const lines = updateLines(optimizer, figures, settings).map(([kind, formula, about]) => {
    return make("div", "line", make("span", `code ${kind}`, formula), make("span", "faint", about));
  });
  const {size, predicted, actual} = nudge;
  return [
    make("div", "top", make("h2", "", name), make("span", "faint", to ? `from ${from} to ${to}` : from),
         onClose),
    make("div", "row", field("Weight", figures.w, onSet, "w ="),
         make("span", "faint", "type a number, or press ↑ and ↓")),
    make("p", "", "Its ", word("gradient"), " is ", strong(number(figures.g), "gradient"),
         `: move w by ${number(size)}, and the loss should move by `, strong(number(predicted), "gradient"),
         `; it does move by ${number(actual)}.`),
    make("p", "faint lead", `What the next step of ${optimizer} does with it:`), ...lines,
  ];
}

function pointPanel({at, label, names, test, scores, guess, loss, onMove, onLabel, onDelete, onClose}) {
  const select = make("select", "", ...names.map((name, k) => {
    const option = make("option", "", `class ${name}`);
    option.value = k;
    option.selected = k === label;
    return option;
  }));
  select.setAttribute("aria-label", "Class of the point");
  select.addEventListener("change", () => onLabel(+select.value));
  const isRight = guess === label;
  return [
    make("div", "top", make("h2", "", test ? "A test point" : "A training point"), onClose),
    make("div", "row", field("x1", at[0], x => onMove(x, at[1]), "x₁"),
         field("x2", at[1], y => onMove(at[0], y), "x₂"), select, button("Delete", onDelete)),
    make("p", "", "It flows through the network from left to right and comes out as the ", word("score"),
         scores.length > 1 ? "s " : " ", strong(scores.map(number).join(", ")), ": the guess is class ",
         make("bdi", "", names[guess]), isRight ? ", which is right" : strong(", which is wrong", "wrong"),
         ". The ", word("loss"), " of this point is ", strong(number(loss)), "."),
    make("p", "", "Below each neuron: its output and, in magenta, its ", word("gradient"),
         ": how many times as far this loss moves as that output does. Backpropagation goes from right to "
         + "left: each neuron multiplies the gradient that it receives, and passes it on."),
    make("p", "faint", "Press a neuron to see its arithmetic for this point."),
  ];
}

// The text of an operation on operands that are texts.
function operationText(op, operands) {
  const infix = {"+": "+", "-": "−", "*": "×", "/": "/"}[op];
  if (infix) return operands.join(` ${infix} `);
  if (op === "neg") return `−${operands[0]}`;
  if (/^\*\*/.test(op) && operands.length === 1) return `${operands[0]} ^ ${op.slice(2)}`;
  return `${op.toLowerCase()}(${operands.join(", ")})`;
}

// All weights with what the next step does to them: a row {name, figures, onPick} for each.
function tablePanel({rows, optimizer, onClose}) {
  const memory = OPTIMIZERS[optimizer].memory, columns = ["data", "gradient", ...memory, "next"];
  const head = make("tr", "", ...["weight", ...columns].map(text => make("th", "", text)));
  const body = rows.map(({name, figures, onPick}) => make("tr", "", make("td", "", button(name, onPick)),
    ...[figures.w, figures.g, ...memory.map(kind => figures[kind]), figures.next].map((x, k) =>
      make("td", k > 0 && k <= memory.length + 1 ? "gradient" : "", number(x)))));
  const about = make("span", "faint", `the next step of ${optimizer}`);
  return [make("div", "top", make("h2", "", "All weights"), about, onClose),
          make("div", "scroll", make("table", "", head, ...body))];
}

function introduction(count, onTable) {
  return [
    make("h2", "", "How it learns"),
    make("ol", "how",
      make("li", "", strong("Forward. "), "A point enters as x₁, x₂. Each ", word("neuron"), " adds up ",
           word("weight"), " × input and its ", word("bias"), ", then ", word("bends", "activation"),
           " the sum. The last sum is the ", word("score"), ". The ", word("loss"),
           " is how wrong the scores of all training points are, on average."),
      make("li", "", strong("Backward. ", "gradient"), "The ", word("gradient"),
           " of a weight: how many times as far the loss moves as the weight does. One pass from the loss "
           + `back to the inputs finds all ${count}.`),
      make("li", "", strong("Step. "), "Every weight and bias moves against its gradient: w ← w − ",
           word("learning rate"), " × gradient. Repeat until the loss of the ", word("test points"),
           " no longer falls.")),
    make("p", "faint", "Press a point, a neuron or a line to see its numbers, or ",
         button("all weights", onTable), "."),
  ];
}
