// The panel of arithmetic: the neuron that was pressed, or a model that is not an MLP, with its operations
// for a point as cards, forward and backward, drawn by cards.js as on the stepping page.

import {Stage} from "../shared/cards.js";
import {$, strong} from "../shared/elements.js";
import {formulaOf, namesOf, plain} from "../shared/formula.js";
import {WORDS} from "../shared/glossary.js";
import {Levels} from "../shared/levels.js";
import {inFormula, number} from "../shared/numbers.js";
import {chainTexts, pictureOf} from "../shared/picture.js";
import {Graph} from "../shared/program.js";
import {Steps} from "../shared/steps.js";
import {filled} from "../shared/texts.js";
import {inputWeight} from "./assembly.js";
import {MOST_INPUTS} from "./experiment.js";
import {attention, chooseMore, clock, experiment, setWeight} from "./state.js";

const PHASES = {forward: "{{phase.forward}}", seed: "{{phase.backward}}", backward: "{{phase.backward}}"};

// The part of a graph with these nodes, operands first, for its data d and gradients g. If `hasRest`, more
// computation lies between the part and the loss: then its last node is "all that follows", whose local
// derivative was found by the backward pass of the whole graph.
function partOf({graph, d, g}, shownNodes, hasRest) {
  const place = new Map(shownNodes.map((node, k) => [node, k]));
  const leaves = {};
  const nodes = shownNodes.map((node, k) => {
    const [rule, ...operands] = graph.nodes[node].map((x, n) => (n ? place.get(x) : x));
    if (rule >= 0 && !operands.includes(undefined)) return [rule, ...operands];
    leaves[k] = d[node];
    return [-1];
  });
  const last = nodes.length - 1;
  const rest = {op: "…", forward: null, shares: [["*", g[shownNodes[last]], "g"]]};
  if (hasRest) leaves[nodes.push([graph.rules.length, last]) - 1] = d[graph.root];
  return new Graph({rules: [...graph.rules, rest], nodes, leaves});
}

const weightOf = k => experiment.model.parameters.indexOf(nodes[k]);
const onTurn = (k, steps) =>
  setWeight(weightOf(k), Math.round(1000 * (experiment.training.p[weightOf(k)] + 0.1 * steps)) / 1000);
const onPick = k => weightOf(k) >= 0 && chooseMore({kind: "weight", weight: weightOf(k)});
const stage = new Stage($("opened-graph"), {map: $("opened-map"), onTurn, onPick});
let shownKey = "", // a text that changes with what is shown
  nodes,
  part,
  view,
  names,
  formulas, // which of the names are formulas
  kinds,
  shown = -1; // the step on display

// The nodes to show of a graph, with the names and kinds of some of them.
function called(neuron, graph) {
  const {model, own} = experiment;
  const {inputs, output, begin, end} = neuron ? model.layers[neuron.layer - 1][neuron.index] : model;
  const named = new Map(),
    kindOf = new Map(model.parameters.map(node => [node, "parameter"]));
  for (const node of inputs) kindOf.set(node, "input");
  if (neuron) {
    const {weights, bias} = model.layers[neuron.layer - 1][neuron.index];
    inputs.forEach((node, k) => named.set(node, experiment.neuronName(neuron.layer - 1, k)));
    weights.forEach((node, k) => named.set(node, inputWeight(k)));
    named.set(bias, "b").set(output, experiment.neuronName(neuron.layer, neuron.index));
  } else {
    inputs.forEach((node, k) => named.set(node, experiment.inputs[k] ?? "y"));
    model.parameters.forEach((node, k) => named.set(node, own.called[k]));
    named.set(graph.root, "{{term.loss}}");
  }
  const inside = Array.from({length: end - begin}, (_, k) => begin + k);
  nodes = neuron ? [...inputs, ...inside] : [...graph.nodes.keys()];
  return {named, kindOf};
}

function buildPart(neuron, whole) {
  const {named, kindOf} = called(neuron, whole.graph);
  part = partOf(whole, nodes, neuron);
  kinds = nodes.map((node, k) => kindOf.get(node) ?? (part.isLeaf(k) ? "constant" : "operation"));
  const labels = Object.fromEntries(nodes.flatMap((node, k) => (named.has(node) ? [[k, named.get(node)]] : [])));
  if (neuron) labels[part.root] = "{{term.loss}}";
  let count = 0;
  const others = k => (part.isLeaf(k) ? number(whole.d[nodes[k]]) : `{{name.sum}} ${++count}`); // long ones are sums
  const letters = kinds.map(kind => kind[0]);
  const {name, isFormula} = namesOf(part, labels, letters, others);
  names = part.nodes.map((_, k) => name(k));
  formulas = names.map((_, k) => isFormula(k));
  kinds[part.root] = "result";
  view = new Levels(part).view(new Set());
  stage.draw(view, ({node: k}) => {
    const op = part.isLeaf(k) ? "" : part.rule(k).op;
    const sign = {"*": "×", "-": "−", neg: "−"}[op] ?? op.toLowerCase();
    return {kind: kinds[k], title: names[k], full: names[k], sign, fixed: kinds[k] !== "parameter"};
  });
  stage.svg.style.height = `${Math.min(440, Math.max(180, stage.needs().height))}px`;
  stage.fit();
  stage.moveTo(0, 0); // it begins at the top left
  shown = -1;
}

export function drawArithmetic() {
  const {chosen} = attention,
    {examples, isFixed, model, sizes, activations, settings} = experiment;
  const isShown = chosen.neuron?.layer > 0 && examples.length && sizes[chosen.neuron.layer - 1] <= MOST_INPUTS;
  const neuron = isShown ? chosen.neuron : null;
  const isModel = isFixed && chosen.point !== undefined && model.graph.nodes.length < 200;
  $("arithmetic").hidden = !neuron && !isModel;
  if (!neuron && !isModel) return;
  const point = chosen.point ?? 0,
    whole = experiment.flow(point),
    {numbers, label} = examples[point];
  const title = neuron ? experiment.neuronTitle(neuron.layer, neuron.index) : "{{opened.whole}}";
  const again = [sizes, activations, settings.loss, title, label, stage.svg.clientWidth].join();
  if (shownKey !== again) buildPart(neuron, whole);
  shownKey = again;
  part = partOf(whole, nodes, neuron);
  const steps = new Steps(part, view, part.leaves),
    last = steps.count - 1;
  const at = Math.max(0, Math.min(chosen.at ?? 0, last)),
    state = steps.state(at),
    {phase} = steps.list[at];
  stage.show(pictureAt(steps, at, state));
  chosen.at = shown = at;
  $("opened-name").textContent = title;
  $("opened-about").textContent = filled("{{opened.point}}", {x: numbers.map(number).join(", ")});
  $("opened-count").textContent = filled("{{steps.count}}", {at, last});
  $("opened-back").disabled = at === 0;
  $("opened-forward").disabled = $("opened-all").disabled = at === last;
  $("opened-phase").textContent = PHASES[phase] ?? "";
  $("opened-phase").className = phase === "forward" ? "" : "gradient";
  $("opened-said").setAttribute("aria-live", clock.isRunning() ? "off" : "polite");
  $("opened-said").replaceChildren(...toldAt(steps.list[at], state, neuron));
}

function pictureAt(steps, at, {changes}) {
  const isConstant = k => kinds[k] === "constant";
  const picture = pictureOf(steps, at, shown, isConstant);
  for (const {name, node: k} of view.items.values()) {
    const card = picture.cards.get(name),
      {data, grad} = card;
    card.spoken = filled("{{card.spoken}}", {name: names[k], kind: WORDS[kinds[k]], data, gradient: grad});
  }
  view.arrows.forEach(({edges: [[giver, k]]}, i) => {
    const chain = changes.find(change => change.giver === giver && change.edge === k);
    if (chain && !isConstant(part.nodes[giver][k + 1])) picture.arrows[i].label = chainTexts(chain);
  });
  return picture;
}

// What happens at a step, in texts and elements.
function toldAt({phase, item}, {d, changes}, neuron) {
  const sentences = {start: "{{opened.start}}", seed: "{{opened.seed}}", end: "{{opened.end}}"};
  if (phase in sentences) return [sentences[phase]];
  const k = view.items.get(item).node;
  if (phase === "forward") {
    const result = strong(number(d[k]));
    if (neuron && k === part.root) return ["{{opened.rest}} {{term.loss}} = ", result];
    const [letters, numbers] = [j => [names[j]], (j, rank) => [(rank ? inFormula : number)(d[j])]].map(called =>
      plain(formulaOf(part, k, {stop: () => true, called})),
    );
    return [`${formulas[k] ? "" : `${names[k]} = `}${letters} = ${numbers} = `, result];
  }
  const received = changes.filter(({node}) => kinds[node] !== "constant");
  if (!received.length) return [filled("{{opened.none}}", {name: names[k]})];
  return received.flatMap(({node, local, upstream, share}, n) => {
    const to = `${n ? "; " : ""}${filled("{{opened.to}}", {name: names[node]})} `;
    const [given, sum] = [upstream, share].map(x => strong(number(x), "gradient"));
    return [to, strong(number(local), "local"), " × ", given, " = ", sum];
  });
}
