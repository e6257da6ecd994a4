// What the panel of details shows: a point, or a weight with its update; at first, how it all works.
// Names and numbers go into the page as text, never as markup.

import {button, make, strong} from "../shared/elements.js";
import {word} from "../shared/glossary.js";
import {inFormula, number} from "../shared/numbers.js";
import {filled, partsOf} from "../shared/texts.js";
import {OPTIMIZERS} from "./optimizers.js";

function field(name, value, action, shown = name) {
  const change = ({target}) => {
    if (target.value !== "" && Number.isFinite(+target.value)) action(+target.value);
  };
  const shownValue = +value.toPrecision(4); // as many digits as elsewhere
  const input = make("input", {type: "number", step: "any", "aria-label": name, value: shownValue, change});
  return make("label", "field", shown, input);
}

// The formulas of the update of a weight, with its numbers: pairs of text and what it says.
function updateLines(name, figures, k) {
  const {w, g, d, m, s, v, mean, root, pulled, next} = figures,
    n = inFormula;
  const lines = [["gradient", `g = ${number(g)}`, "{{weight.points}}"]];
  if (name === "AdamW" && k.decay)
    lines.push(["", `w ← w − ${n(k.rate)} × ${n(k.decay)} × w = ${number(pulled)}`, "{{weight.penalty}}"]);
  else if (k.decay) lines.push(["gradient", `g + ${n(k.decay)} × w = ${number(d)}`, "{{weight.penalty.added}}"]);
  if (name === "Momentum") lines.push(["gradient", `v ← ${n(k.momentum)} v + g = ${number(v)}`, "{{weight.velocity}}"]);
  if (name.startsWith("Adam")) {
    const [a, b] = k.betas,
      rest = beta => +(1 - beta).toPrecision(3);
    lines.push(
      ["gradient", `m ← ${a} m + ${rest(a)} g = ${number(m)}`, "{{weight.first}}"],
      ["gradient", `s ← ${b} s + ${rest(b)} g² = ${number(s)}`, "{{weight.second}}"],
      ["gradient", `m̂ / √ŝ = ${n(mean)} / ${n(root)}`, "{{weight.corrected}}"],
    );
  }
  const direction = name === "SGD" ? d : name === "Momentum" ? v : mean / root;
  const step = `w ← ${number(pulled ?? w)} − ${n(k.rate)} × ${n(direction)} = ${number(next)}`;
  lines.push(["", step, "{{weight.moves}}"]);
  return lines;
}

export function weightPanel({name, from, to, figures, optimizer, settings, nudge, onSet, onClose}) {
  const lines = updateLines(optimizer, figures, settings).map(([kind, formula, about]) => {
    return make("div", "line", make("span", `code ${kind}`, formula), make("span", "faint", about));
  });
  const {size, predicted, actual} = nudge;
  return [
    make(
      "div",
      "top",
      make("h2", "", name),
      make("span", "faint", to ? filled("{{weight.from}}", {from, to}) : from),
      onClose,
    ),
    make(
      "div",
      "row weight",
      field("{{weight.name}}", figures.w, onSet, "w ="),
      make("span", "faint", "{{weight.type}}"),
    ),
    make(
      "p",
      "",
      ...partsOf("{{weight.gradient}}", {
        gradient: word("gradient", "{{how.gradient}}"),
        g: strong(number(figures.g), "gradient"),
        size: number(size),
        predicted: strong(number(predicted), "gradient"),
        actual: number(actual),
      }),
    ),
    make("p", "faint lead", filled("{{weight.step}}", {optimizer})),
    ...lines,
  ];
}

export function pointPanel({at, label, names, test, scores, guess, loss, onMove, onLabel, onDelete, onClose}) {
  const options = names.map((name, k) => {
    const text = filled("{{plane.class}}", {name});
    return new Option(text, k, k === label, k === label);
  });
  const change = ({target}) => onLabel(+target.value);
  const select = make("select", {"aria-label": "{{point.class}}", change}, ...options);
  const isRight = guess === label;
  return [
    make("div", "top", make("h2", "", test ? "{{point.test}}" : "{{point.training}}"), onClose),
    make(
      "div",
      "row",
      field("x1", at[0], x => onMove(x, at[1]), "x₁"),
      field("x2", at[1], y => onMove(at[0], y), "x₂"),
      select,
      button("{{point.delete}}", onDelete),
    ),
    make(
      "p",
      "",
      ...partsOf(scores.length > 1 ? "{{point.says.many}}" : "{{point.says}}", {
        score: word("score", "{{how.score}}"),
        scores: strong(scores.map(number).join(", ")),
        guess: make("bdi", "", names[guess]),
        verdict: isRight ? "{{point.right}}" : strong("{{point.wrong}}", "wrong"),
        loss: word("loss", "{{how.loss}}"),
        x: strong(number(loss)),
      }),
    ),
    make("p", "", ...partsOf("{{point.neurons}}", {gradient: word("gradient", "{{how.gradient}}")})),
    make("p", "faint", "{{point.press}}"),
  ];
}

// The text of an operation on operands that are texts.
export function operationIn(op, operands) {
  const infix = {"+": "+", "-": "−", "*": "×", "/": "/"}[op];
  if (infix) return operands.join(` ${infix} `);
  if (op === "neg") return `−${operands[0]}`;
  if (/^\*\*/.test(op) && operands.length === 1) return `${operands[0]} ^ ${op.slice(2)}`;
  return `${op.toLowerCase()}(${operands.join(", ")})`;
}

// All weights with what the next step does to them: a row {name, figures, onPick} for each.
export function tablePanel({rows, optimizer, onClose}) {
  const {memory} = OPTIMIZERS[optimizer];
  const columns = ["data", "{{how.gradient}}", ...memory, "{{weights.next}}"];
  const head = make("tr", "", ...["{{how.weight}}", ...columns].map(text => make("th", "", text)));
  const body = rows.map(({name, figures, onPick}) =>
    make(
      "tr",
      "",
      make("td", "", button(name, onPick)),
      ...[figures.w, figures.g, ...memory.map(kind => figures[kind]), figures.next].map((x, k) =>
        make("td", k > 0 && k <= memory.length + 1 ? "gradient" : "", number(x)),
      ),
    ),
  );
  const about = make("span", "faint", filled("{{weights.step}}", {optimizer}));
  return [
    make("div", "top", make("h2", "", "{{weights.title}}"), about, onClose),
    make("div", "scroll", make("table", "", head, ...body)),
  ];
}

export function introduction(count, onTable) {
  const step = (name, kind, text, values) => make("li", "", strong(`${name} `, kind), ...partsOf(text, values));
  return [
    make("h2", "", "{{how.title}}"),
    make(
      "ol",
      "how",
      step("{{how.forward.name}}", "", "{{how.forward}}", {
        neuron: word("neuron", "{{how.neuron}}"),
        weight: word("weight", "{{how.weight}}"),
        bias: word("bias", "{{how.bias}}"),
        bends: word("activation", "{{how.bends}}"),
        score: word("score", "{{how.score}}"),
        loss: word("loss", "{{how.loss}}"),
      }),
      step("{{how.backward.name}}", "gradient", "{{how.backward}}", {
        gradient: word("gradient", "{{how.gradient}}"),
        n: count,
      }),
      step("{{how.step.name}}", "", "{{how.step}}", {
        rate: word("rate", "{{how.rate}}"),
        tests: word("tests", "{{how.tests}}"),
      }),
    ),
    make("p", "faint", ...partsOf("{{how.press}}", {all: button("{{how.all}}", onTable)})),
  ];
}
