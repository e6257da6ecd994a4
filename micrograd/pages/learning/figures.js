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
// A word that glossary.js explains: the text, and its name there.
const word = (text, name) => {
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
  const lines = [["gradient", `g = ${number(g)}`, "{{weight.points}}"]];
  if (name === "AdamW" && k.decay)
    lines.push(["", `w ← w − ${n(k.rate)} × ${n(k.decay)} × w = ${number(pulled)}`, "{{weight.penalty}}"]);
  else if (k.decay)
    lines.push(["gradient", `g + ${n(k.decay)} × w = ${number(d)}`, "{{weight.penalty.added}}"]);
  if (name === "Momentum")
    lines.push(["gradient", `v ← ${n(k.momentum)} v + g = ${number(v)}`, "{{weight.velocity}}"]);
  if (name.startsWith("Adam")) {
    const [a, b] = k.betas, rest = beta => +(1 - beta).toPrecision(3);
    lines.push(["gradient", `m ← ${a} m + ${rest(a)} g = ${number(m)}`, "{{weight.first}}"],
               ["gradient", `s ← ${b} s + ${rest(b)} g² = ${number(s)}`, "{{weight.second}}"],
               ["gradient", `m̂ / √ŝ = ${n(mean)} / ${n(root)}`, "{{weight.corrected}}"]);
  }
  const direction = name === "SGD" ? d : name === "Momentum" ? v : mean / root;
  const step = `w ← ${number(pulled ?? w)} − ${n(k.rate)} × ${n(direction)} = ${number(next)}`;
  lines.push(["", step, "{{weight.moves}}"]);
  return lines;
}

function weightPanel({name, from, to, figures, optimizer, settings, nudge, onSet, onClose}) {
  const lines = updateLines(optimizer, figures, settings).map(([kind, formula, about]) => {
    return make("div", "line", make("span", `code ${kind}`, formula), make("span", "faint", about));
  });
  const {size, predicted, actual} = nudge;
  return [
    make("div", "top", make("h2", "", name),
         make("span", "faint", to ? filled("{{weight.from}}", {from, to}) : from), onClose),
    make("div", "row weight", field("{{weight.name}}", figures.w, onSet, "w ="),
         make("span", "faint", "{{weight.type}}")),
    make("p", "", ...partsOf("{{weight.gradient}}", {
      gradient: word("{{how.gradient}}", "gradient"), g: strong(number(figures.g), "gradient"),
      size: number(size), predicted: strong(number(predicted), "gradient"), actual: number(actual),
    })),
    make("p", "faint lead", filled("{{weight.step}}", {optimizer})), ...lines,
  ];
}

function pointPanel({at, label, names, test, scores, guess, loss, onMove, onLabel, onDelete, onClose}) {
  const select = make("select", "", ...names.map((name, k) => {
    const option = make("option", "", filled("{{plane.class}}", {name}));
    option.value = k;
    option.selected = k === label;
    return option;
  }));
  select.setAttribute("aria-label", "{{point.class}}");
  select.addEventListener("change", () => onLabel(+select.value));
  const isRight = guess === label;
  return [
    make("div", "top", make("h2", "", test ? "{{point.test}}" : "{{point.training}}"), onClose),
    make("div", "row", field("x1", at[0], x => onMove(x, at[1]), "x₁"),
         field("x2", at[1], y => onMove(at[0], y), "x₂"), select, button("{{point.delete}}", onDelete)),
    make("p", "", ...partsOf(scores.length > 1 ? "{{point.says.many}}" : "{{point.says}}", {
      score: word("{{how.score}}", "score"), scores: strong(scores.map(number).join(", ")),
      guess: make("bdi", "", names[guess]),
      verdict: isRight ? "{{point.right}}" : strong("{{point.wrong}}", "wrong"),
      loss: word("{{how.loss}}", "loss"), x: strong(number(loss)),
    })),
    make("p", "", ...partsOf("{{point.neurons}}", {gradient: word("{{how.gradient}}", "gradient")})),
    make("p", "faint", "{{point.press}}"),
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
  const {memory} = OPTIMIZERS[optimizer];
  const columns = ["data", "{{how.gradient}}", ...memory, "{{weights.next}}"];
  const head = make("tr", "", ...["{{how.weight}}", ...columns].map(text => make("th", "", text)));
  const body = rows.map(({name, figures, onPick}) => make("tr", "", make("td", "", button(name, onPick)),
    ...[figures.w, figures.g, ...memory.map(kind => figures[kind]), figures.next].map((x, k) =>
      make("td", k > 0 && k <= memory.length + 1 ? "gradient" : "", number(x)))));
  const about = make("span", "faint", filled("{{weights.step}}", {optimizer}));
  return [make("div", "top", make("h2", "", "{{weights.title}}"), about, onClose),
          make("div", "scroll", make("table", "", head, ...body))];
}

function introduction(count, onTable) {
  const step = (name, kind, text, values) =>
    make("li", "", strong(`${name} `, kind), ...partsOf(text, values));
  return [
    make("h2", "", "{{how.title}}"),
    make("ol", "how",
      step("{{how.forward.name}}", "", "{{how.forward}}", {
        neuron: word("{{how.neuron}}", "neuron"), weight: word("{{how.weight}}", "weight"),
        bias: word("{{how.bias}}", "bias"), bends: word("{{how.bends}}", "activation"),
        score: word("{{how.score}}", "score"), loss: word("{{how.loss}}", "loss"),
      }),
      step("{{how.backward.name}}", "gradient", "{{how.backward}}",
           {gradient: word("{{how.gradient}}", "gradient"), n: count}),
      step("{{how.step.name}}", "", "{{how.step}}",
           {rate: word("{{how.rate}}", "rate"), tests: word("{{how.tests}}", "tests")})),
    make("p", "faint", ...partsOf("{{how.press}}", {all: button("{{how.all}}", onTable)})),
  ];
}
