// The panel of details: the point, the weight or the table that was chosen; at first, how it all works.
// Names and numbers go into the page as text, never as markup.

import {$, button, make, row, strong} from "../shared/elements.js";
import {word} from "../shared/glossary.js";
import {inFormula, number, numberFrom, rough, typed} from "../shared/numbers.js";
import {filled, partsOf} from "../shared/texts.js";
import {histograms, ratioLine} from "./health.js";
import {OPTIMIZERS} from "./optimizers.js";
import {pointsOf, tableOf} from "./pasted.js";
import {hasScript, scriptOf} from "./script.js";
import {MOST_INPUTS} from "./experiment.js";
import {pictureOfWeights} from "./sight.js";
import {MOST_POINTS, attention, change, choose, chooseMore, clock, experiment} from "./state.js";
import {deletePoint, reveal, setExamples, setWeight, withPoint} from "./state.js";
import {MOST_COLUMNS, answerTo, imageOf} from "./table.js";

const NUDGE = 0.01;
const OPENED = ["csv", "health", "script", "table"]; // by buttons elsewhere
// Words of the field in gaps of sentences, by their names in words.js.
const TERMS = Object.entries(JSON.parse("{{term.*}}"));

function sentence(text, values = {}) {
  const words = Object.fromEntries(TERMS.map(([name, term]) => [name, word(name, term)]));
  return partsOf(text, {...words, bends: words.activation, ...values});
}
const paragraph = (text, values) => make("p", "", ...sentence(text, values));
const gradient = x => strong(number(x), "gradient");

function field(name, value, action, shown = name) {
  const change = ({target}) => {
    const x = numberFrom(target.value);
    if (x !== undefined) action(x);
  };
  const input = make("input", {type: "number", step: "any", "aria-label": name, value: typed(value), change});
  return make("label", "field", shown, input);
}

// The formulas of the update of a weight, with its numbers: the kind of each, its text and what it says.
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
  return [...lines, ["", step, "{{weight.moves}}"]];
}

const changePoint = (point, changed) => setExamples(withPoint(point, changed));

const panel = $("details");
let drawn = 0, // frames
  last; // the kind shown before
const head = (title, about = "") => {
  const close = button("×", () => choose({}), "{{details.close}}");
  return make("div", "top", make("h2", "", title), make("span", "faint", about), close);
};

export function drawDetails() {
  const {chosen} = attention,
    {training, trained} = experiment,
    focus = document.activeElement ?? document.body;
  const held = panel.contains(focus) ? focus.getAttribute("aria-label") : null;
  if (["health", "table"].includes(chosen.kind) && clock.isRunning() && ++drawn % 10) return;
  const shown = chosen.kind === "csv" ? "csv" : chosen.kind ? "" : String(training.p.length);
  const isWide = chosen.kind === "neuron" && experiment.sizes[chosen.neuron.layer - 1] > MOST_INPUTS;
  const detail =
    {csv: pasteDetail, script: scriptDetail}[chosen.kind] ??
    (isWide && trained.length ? neuronDetail : null) ??
    (trained.length ? {weight: weightDetail, table: tableDetail, health: healthDetail}[chosen.kind] : null) ??
    (chosen.point === undefined ? introduction : pointDetail);
  if (panel.dataset.shown === shown && (detail === pasteDetail || detail === introduction)) return; // somebody reads it
  const parts = detail(chosen);
  panel.dataset.shown = shown;
  if (held && focus.matches("input, select") && clock.isRunning()) return; // somebody types
  const top = panel.querySelector(".scroll")?.scrollTop ?? 0;
  panel.replaceChildren(...parts);
  panel.querySelector(".scroll")?.scrollTo(0, top);
  if (chosen.kind !== last && OPENED.includes(chosen.kind) && last !== undefined) reveal(panel);
  last = chosen.kind ?? "";
  if (held) [...panel.querySelectorAll("[aria-label]")].find(e => e.ariaLabel === held)?.focus();
}

function introduction() {
  const step = (name, kind, text, values = {}) => make("li", "", strong(`${name} `, kind), ...sentence(text, values));
  const {length} = experiment.inputs;
  const inputs = length > MOST_COLUMNS ? filled("{{table.inputs}}", {n: length}) : experiment.inputs.join(", ");
  const all = button("{{how.all}}", () => chooseMore({kind: "table", table: true}));
  const steps = [
    step("{{how.forward.name}}", "", "{{how.forward}}", {inputs}),
    step("{{how.backward.name}}", "gradient", "{{how.backward}}", {n: experiment.training.p.length}),
    step("{{how.step.name}}", "", "{{how.step}}"),
  ];
  const health = button("{{how.health}}", () => chooseMore({kind: "health", health: true}));
  const press = make("p", "faint", ...partsOf("{{how.press}}", {all, health}));
  return [make("h2", "", "{{how.title}}"), make("ol", "how", ...steps), press];
}

// All weights with what the next step does to them.
function tableDetail() {
  const {training, model, settings, settingsOfStep, trained} = experiment;
  const {optimizer} = settings,
    {memory} = OPTIMIZERS[optimizer];
  training.backward(trained);
  const rows = model.parameters.map((_, weight) => {
    const figures = training.nextOf(weight, settingsOfStep),
      name = experiment.weightName(weight);
    const pick = button(name, () => chooseMore({kind: "weight", weight}), name);
    const magenta = ["g", ...memory].map(figure => make("span", "gradient", number(figures[figure])));
    return row([pick, number(figures.w), ...magenta, number(figures.next)]);
  });
  const names = ["{{term.weight}}", "data", "{{term.gradient}}", ...memory, "{{weights.next}}"];
  const table = make("table", "", row(names, "th"), ...rows);
  return [head("{{weights.title}}", filled("{{weights.step}}", {optimizer})), make("div", "scroll", table)];
}

// Of each layer: histograms of its outputs and of its gradients, and how large its steps were.
function healthDetail() {
  const layers = experiment.health;
  const [outputs, gradients] = ["outputs", "gradients"].map(what => histograms(layers.map(layer => layer[what])));
  const heads = ["{{health.outputs}}", "{{playground.gradients}}", "{{health.steps}}"];
  const picture = (name, kind, axis, d) => {
    const frame = {viewBox: "0 0 30 10", preserveAspectRatio: "none", role: "img", "aria-label": name};
    return d ? make("svg", frame, make("path", {class: "axis", d: axis}), make("path", {class: kind, d})) : "";
  };
  const rows = layers.map(({ratios}, k) => {
    const name = experiment.isFixed ? "" : `L${k}`,
      [first, second, third] = heads.map(head => `${name} ${head}`);
    return row([
      name,
      picture(first, "data", "M15 0v10", outputs.paths[k]),
      picture(second, "gradient", "M15 0v10", gradients.paths[k]),
      picture(third, "line", "M0 5h30", ratioLine(ratios)),
      ratios.at(-1) ? rough(Math.log10(ratios.at(-1)), 2) : "",
    ]);
  });
  const ends = row(["", ...[outputs, gradients].map(({most}) => `±${rough(most, 2)}`)]); // of the axes
  const table = make("table", "health", row(["", ...heads, ""], "th"), ...rows, ends);
  const said = ["{{health.outputs.means}}", "{{health.gradients.means}}", "{{health.steps.means}}"];
  return [head("{{health.title}}"), table, ...said.map(text => make("p", "faint", text))];
}

// Points from a table, one in each line: pasted, or from a file that only this page reads.
function pasteDetail() {
  const {given, isFixed} = experiment;
  const area = make("textarea", {spellcheck: "false", "aria-label": "{{csv.title}}"});
  const example = isFixed ? ["0.5", "-1.2", given.names[0]] : ["5.1", "3.5", "1.4", "0.2", "setosa"];
  area.placeholder = [example.map((_, k) => (k === example.length - 1 ? "class" : `x${k + 1}`)), example].join("\n");
  const said = make("output", {"aria-live": "polite"}),
    target = make("select", {"aria-label": "{{csv.target}}", change: () => hideTarget()}),
    boxes = make("span", {role: "group", "aria-label": "{{csv.inputs}}"}),
    columns = make("div", {class: "row", hidden: ""}, ...partsOf("{{csv.predict}}", {target, inputs: boxes}));
  const hideTarget = () => [...boxes.children].forEach((box, k) => (box.hidden = k === +target.value));
  // The last column is the one to predict, until another is chosen.
  const show = () => {
    const {columns: names} = tableOf(area.value);
    if (names.join() === [...target.options].map(option => option.text).join()) return;
    target.replaceChildren(...names.map((name, k) => new Option(name, String(k))));
    target.value = String(names.length - 1);
    columns.hidden = names.length < 3;
    const box = name => make("label", "field", make("input", {type: "checkbox", checked: ""}), name);
    boxes.replaceChildren(...names.map(box));
    hideTarget();
  };
  area.addEventListener("input", show);
  const read = async ({target: {files}}) => {
    area.value = (await files[0]?.text()) ?? "";
    show();
  };
  const file = make("input", {type: "file", accept: ".csv,.tsv,.txt", "aria-label": "{{csv.file}}", change: read});
  const use = button("{{csv.use}}", () => {
    const used = [...boxes.children].flatMap((box, k) => (box.firstChild.checked && k !== +target.value ? [k] : []));
    const about = {target: +target.value, used, most: MOST_POINTS, known: experiment.names};
    const found = pointsOf(tableOf(area.value), {...about, fixed: isFixed ? given : null}),
      {error, names, inputs} = found;
    if (!error) change(() => experiment.take({...found, points: experiment.divided(found.points)}, true));
    const joined = list => (list ?? []).join(", ");
    const learned = {n: found.points?.length, inputs: joined(inputs), names: joined(names), count: names?.length};
    said.className = error ? "wrong" : "";
    said.textContent = error ?? filled(found.isRegression ? "{{csv.read.numbers}}" : "{{csv.read}}", learned);
  });
  const about = make("p", "faint", "{{csv.about}}");
  return [head("{{csv.title}}"), about, area, file, columns, make("div", "row", use, said)];
}

// The whole experiment as a script, to take away. (A frame of a notebook has no other way to copy.)
function scriptDetail({script}) {
  const top = head(filled("{{script.name}}", {package: script}));
  if (!hasScript(experiment)) return [top, paragraph("{{script.none}}")];
  const area = make("textarea", {readonly: "", spellcheck: "false", "aria-label": "{{script.code}}"});
  area.value = scriptOf(experiment, script);
  const copy = button("{{script.press}}", () => {
    area.select();
    if (document.execCommand("copy")) copy.textContent = "{{script.copied}}";
  });
  return [top, make("div", "row", make("span", "faint", "{{script.about}}"), copy), area];
}

function weightDetail({weight: at}) {
  const {training, settings, settingsOfStep, trained, isFixed} = experiment;
  const {optimizer} = settings;
  training.backward(trained);
  const figures = training.nextOf(at, settingsOfStep);
  const {layer, index, input} = experiment.lines[at] ?? {};
  const ends = isFixed ? {} : {from: experiment.neuronName(layer - 1, input), to: experiment.neuronName(layer, index)};
  const kind = isFixed ? "{{weight.parameter}}" : experiment.isBias(at) ? "{{weight.bias}}" : "{{weight.from}}";
  const typed = field("{{weight.name}}", figures.w, x => setWeight(at, x), "w =");
  const [g, predicted] = [figures.g, NUDGE * figures.g].map(gradient);
  const says = {g, predicted, size: number(NUDGE), actual: number(experiment.nudged(at, NUDGE))};
  const lines = updateLines(optimizer, figures, settingsOfStep).map(([kind, formula, about]) =>
    make("div", "line", make("span", `code ${kind}`, formula), make("span", "faint", about)),
  );
  return [
    head(experiment.weightName(at), filled(kind, {...ends, neuron: ends.to})),
    make("div", "row weight", typed, make("span", "faint", "{{weight.type}}")),
    paragraph("{{weight.gradient}}", says),
    make("p", "faint lead", filled("{{weight.step}}", {optimizer})),
    ...lines,
  ];
}

// A neuron with too many inputs for its arithmetic as cards: all weights as a picture, and the products that say most.
function neuronDetail({neuron: {layer, index}, point = 0}) {
  const {model, training, imageWidth, activations} = experiment,
    {first, weights, output, inputs} = model.layers[layer - 1][index];
  const {d} = experiment.flow(point),
    own = [...training.p.slice(first, first + weights.length)],
    products = own.map((w, k) => w * d[inputs[k]]);
  const most = [...own.keys()].sort((i, j) => Math.abs(products[j]) - Math.abs(products[i])).slice(0, MOST_COLUMNS);
  const line = k => {
    const pick = button(experiment.weightName(first + k), () => chooseMore({kind: "weight", weight: first + k}));
    return row([experiment.neuronName(layer - 1, k), number(d[inputs[k]]), pick, number(own[k]), number(products[k])]);
  };
  const heads = row(["{{word.input}}", "data", "{{term.weight}}", "data", "{{name.product}}"], "th");
  const bias = training.p[first + weights.length];
  const says = {n: own.length, bias: inFormula(bias), activation: activations[layer - 1], point: point + 1};
  const sum = products.reduce((total, x) => total + x, bias);
  return [
    head(experiment.neuronTitle(layer, index)),
    make("span", "pixels large", pictureOfWeights(own, layer === 1 ? imageWidth : 0)),
    paragraph("{{neuron.says}}", {...says, sum: strong(number(sum)), output: strong(number(d[output]))}),
    make("table", "", heads, ...most.map(line)),
  ];
}

function pointDetail({point}) {
  const {training, names, isFixed, isRegression, inputs, imageWidth} = experiment;
  const {numbers, label, test} = experiment.examples[point];
  const {own, cells, isRight} = answerTo(experiment.examples[point]);
  const option = (name, k) => new Option(filled("{{plane.class}}", {name}), String(k), k === label, k === label);
  const change = ({target}) => changePoint(point, {label: +target.value});
  const choice = () => make("select", {"aria-label": "{{point.class}}", change}, ...names.map(option));
  const typed = inputs.length > MOST_COLUMNS ? [] : inputs;
  const typedField = (name, k) => field(name, numbers[k], x => changePoint(point, {numbers: numbers.with(k, x)}));
  const fields = [
    ...typed.map(typedField),
    isRegression ? typedField("y", inputs.length) : choice(),
    button("{{point.delete}}", deletePoint),
  ];
  const says = {
    scores: strong([...training.scores].map(number).join(", ")),
    guess: make("bdi", "", cells[1]),
    verdict: isRight ? "{{point.right}}" : strong("{{point.wrong}}", "wrong"),
    x: strong(number(own)),
    y: strong(number(numbers.at(-1))),
  };
  const usual = training.scores.length > 1 ? "{{point.says.many}}" : "{{point.says}}";
  const told = paragraph(isRegression ? "{{point.says.curve}}" : usual, says);
  const image = imageWidth ? [make("span", "pixels large", imageOf(numbers))] : [];
  const neurons = isFixed ? [] : [paragraph("{{point.neurons}}"), make("p", "faint", "{{point.press}}")];
  const title = filled(test ? "{{point.test}}" : "{{point.training}}", {n: point + 1});
  return [head(title), ...image, make("div", "row", ...fields), told, ...neurons];
}
