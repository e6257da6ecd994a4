// What the panel of details shows: a point, or a weight with its update; at first, how it all works.
// Names and numbers go into the page as text, never as markup.

import {button, make, strong} from "../shared/elements.js";
import {word} from "../shared/glossary.js";
import {inFormula, number} from "../shared/numbers.js";
import {filled, partsOf} from "../shared/texts.js";
import {OPTIMIZERS} from "./optimizers.js";

// Words of the field that stand in gaps of sentences.
const TERMS = JSON.parse("{{term.*}}");
function withWords(text, values) {
  const words = Object.fromEntries(Object.entries(TERMS).map(([name, term]) => [name, word(name, term)]));
  return partsOf(text, {...words, bends: words.activation, ...values});
}
const sentence = (text, values = {}) => make("p", "", ...withWords(text, values));
const gradient = x => strong(number(x), "gradient");

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
    sentence("{{weight.gradient}}", {
      g: gradient(figures.g),
      size: number(size),
      predicted: gradient(predicted),
      actual: number(actual),
    }),
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
    sentence(scores.length > 1 ? "{{point.says.many}}" : "{{point.says}}", {
      scores: strong(scores.map(number).join(", ")),
      guess: make("bdi", "", names[guess]),
      verdict: guess === label ? "{{point.right}}" : strong("{{point.wrong}}", "wrong"),
      x: strong(number(loss)),
    }),
    sentence("{{point.neurons}}"),
    make("p", "faint", "{{point.press}}"),
  ];
}

// All weights with what the next step does to them: a row {name, figures, onPick} for each.
export function tablePanel({rows, optimizer, onClose}) {
  const {memory} = OPTIMIZERS[optimizer];
  const columns = ["data", "{{term.gradient}}", ...memory, "{{weights.next}}"];
  const head = make("tr", "", ...["{{term.weight}}", ...columns].map(text => make("th", "", text)));
  const cell = (x, k) => make("td", k > 0 && k <= memory.length + 1 ? "gradient" : "", number(x));
  const body = rows.map(({name, figures, onPick}) => {
    const numbers = ["w", "g", ...memory, "next"].map(figure => figures[figure]);
    return make("tr", "", make("td", "", button(name, onPick)), ...numbers.map(cell));
  });
  const about = make("span", "faint", filled("{{weights.step}}", {optimizer}));
  return [
    make("div", "top", make("h2", "", "{{weights.title}}"), about, onClose),
    make("div", "scroll", make("table", "", head, ...body)),
  ];
}

export function introduction(count, onTable) {
  const step = (name, kind, text, values = {}) => make("li", "", strong(`${name} `, kind), ...withWords(text, values));
  const steps = [
    step("{{how.forward.name}}", "", "{{how.forward}}"),
    step("{{how.backward.name}}", "gradient", "{{how.backward}}", {n: count}),
    step("{{how.step.name}}", "", "{{how.step}}"),
  ];
  const all = button("{{how.all}}", onTable);
  return [
    make("h2", "", "{{how.title}}"),
    make("ol", "how", ...steps),
    make("p", "faint", ...partsOf("{{how.press}}", {all})),
  ];
}
