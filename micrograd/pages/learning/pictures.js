// The pictures of live training: the plane, the curves, and the network with what each neuron sees.

import {$, make} from "../shared/elements.js";
import {number, percent} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {ofSign, picture} from "./canvas.js";
import {showCurve} from "./curves.js";
import {makeNetwork, thickest} from "./network.js";
import {captionOf, drawPlane} from "./plane.js";
import {mapOf, outputsOver, pictureOfWeights} from "./sight.js";
import {ask, attention, change, chooseMore, clock, experiment, reveal} from "./state.js";
import {drawTable, imageOf} from "./table.js";

const COLUMNS = 54,
  FEW = 16; // points across the plane, and across the small map of a neuron

/** @type {any} */
let plane = null; // its last drawing
let maps = [],
  frames = 0;
export const geometry = () => plane; // for pointers

function openNeuron(layer, index) {
  const point = attention.chosen.point ?? (experiment.examples.length ? 0 : undefined);
  chooseMore({kind: "neuron", neuron: {layer, index}, at: 0, point});
  requestAnimationFrame(() => $("arithmetic").hidden || reveal($("arithmetic")));
}
function pointAt(layer, index) {
  attention.pointed = layer === null ? null : {layer, index};
  ask();
}
const pressLine = (layer, index, input) =>
  experiment.isFolded && layer === 1
    ? openNeuron(layer, index)
    : chooseMore({kind: "weight", weight: experiment.model.layers[layer - 1][index].first + input});
const resizeLayer = (layer, by) => change(() => experiment.resize(layer, by));
/** @type {any} None of a model that is not an MLP. */
export const network = experiment.isFixed
  ? null
  : makeNetwork($("network"), {onNeuron: openNeuron, onPoint: pointAt, onLine: pressLine, onSize: resizeLayer});

export function drawPictures() {
  if (experiment.hasPlane) drawPoints();
  else {
    plane = null;
    drawTable();
    if (!experiment.isFixed && isDue()) maps = mapsOfWeights();
    $("plane-about").textContent = experiment.examples.length > 100 ? "{{table.about.many}}" : "{{table.about}}";
  }
  drawBothCurves();
  if (network) drawNetwork();
}

// While it trains, the small maps need not follow every frame.
const isDue = () => !clock.isRunning() || ++frames % 3 === 0 || maps.length !== experiment.sizes.length;

function drawPoints() {
  const {isFixed, isCurve, outputs, program, training, loss, examples, view, sizes} = experiment,
    {low, high, ratio} = view,
    placeAt = share => low[0] + share * (high[0] - low[0]);
  const rows = Math.round(COLUMNS / ratio),
    few = Math.round(FEW / ratio);
  const neurons = isFixed ? outputs : sizes.slice(1).reduce((a, b) => a + b);
  const surfaces = outputsOver(view, COLUMNS, rows, program, training.p, neurons);
  const scores = surfaces.slice(-outputs);
  if (outputs === 1 && loss.threshold) scores[0] = scores[0].map(z => z - loss.threshold);
  if (!isFixed && isDue()) maps = mapsOf(outputsOver(view, FEW, few, program, training.p, neurons), few);
  const {pointed, chosen} = attention,
    looked = pointed && maps[pointed.layer]?.[pointed.index];
  plane = drawPlane($("boundary"), {
    grid: {columns: COLUMNS, rows, surfaces: scores},
    ...view,
    points: examples,
    curve: isCurve ? [...scores[0].slice(0, COLUMNS)].map((z, i) => [placeAt(i / (COLUMNS - 1)), z]) : null,
    inside: looked ? seenBy(pointed, surfaces, rows) : null,
    chosen: chosen.point,
  });
  const name = looked && experiment.neuronName(pointed.layer, pointed.index);
  $("plane-about").textContent = captionOf(name, isCurve, experiment.inputs);
}

// Without a plane, a neuron shows its weights, and the inputs what comes in: that of the chosen point.
function mapsOfWeights() {
  const {inputs, examples, ranges, isFolded, imageWidth} = experiment;
  const {numbers} = examples[attention.chosen.point] ?? {numbers: meanOf(examples)};
  const shown = isFolded
    ? [imageWidth ? imageOf(numbers) : pictureOfWeights(numbers.slice(0, inputs.length))]
    : ranges.map((ends, k) => picture(2, 2, () => ofSign(numbers[k] / Math.max(...ends.map(Math.abs)))));
  const seen = (layer, k) => layer.map(row => pictureOfWeights(row.slice(0, -1), k ? 0 : imageWidth));
  return [shown, ...experiment.rows().map(seen)];
}
const meanOf = examples =>
  experiment.inputs.map((_, k) => examples.reduce((sum, {numbers}) => sum + numbers[k] / examples.length, 0));

function mapsOf(outputs, rows) {
  const {view, sizes, activations} = experiment;
  const inputs = [0, 1].map(axis =>
    picture(FEW, rows, i => {
      const at = axis ? Math.floor(i / FEW) / (rows - 1) : (i % FEW) / (FEW - 1);
      return ofSign(Math.tanh(view.low[axis] + at * (view.high[axis] - view.low[axis])));
    }),
  );
  let k = 0;
  const seen = (size, layer) => Array.from({length: size}, () => mapOf(outputs[k++], FEW, rows, activations[layer]));
  return [inputs, ...sizes.slice(1).map(seen)];
}

// What a neuron sees, large.
function seenBy({layer, index}, surfaces, rows) {
  if (layer === 0) return maps[0][index];
  const before = experiment.sizes.slice(1, layer).reduce((a, b) => a + b, 0);
  return mapOf(surfaces[before + index], COLUMNS, rows, experiment.activations[layer - 1]);
}

function drawBothCurves() {
  const {curves, tested, names} = experiment,
    {steps, loss, testLoss, accuracy, testAccuracy} = curves;
  const show = (id, main, test) => {
    const about = {unit: "{{curve.step}}", now: steps.length - 1, height: 112, both: "{{curve.test}}"};
    showCurve(id, {steps, main, other: tested.length ? test : null, ...about});
  };
  show("loss", loss, testLoss);
  show("accuracy", accuracy, testAccuracy);
  const told = ([right, all], k) => [k ? " · " : " ", make("bdi", "", names[k]), `: ${percent(right / all)}`];
  $("per-class").replaceChildren("{{playground.kinds}}", ...experiment.perClass.flatMap(told));
  $("key").hidden = !tested.length;
}

function drawNetwork() {
  const {chosen, hue} = attention,
    {training, model, moved, isFolded, inputs, names, outputs} = experiment,
    sizes = isFolded ? experiment.sizes.with(0, 1) : experiment.sizes;
  const isGradient = hue === "gradients";
  const seen = chosen.point === undefined ? null : experiment.flow(chosen.point);
  if (isGradient) training.backward(experiment.trained);
  const numbers = isGradient ? training.G : training.p;
  const largest = numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-300);
  const most = isGradient ? largest : Math.max(3, 0.8 * largest);
  const fitting = $("page").clientWidth < 1100 ? 380 : Math.max(310, Math.min(620, innerHeight - 492)),
    isTight = document.body.matches(".embedded, .presenting"),
    room = isTight ? innerHeight - 262 : fitting;
  // Of inputs that are folded into one, a line shows the weight that is furthest from 0.
  const placeOf = (layer, i, j) => {
    const {first, weights} = model.layers[layer - 1][i];
    if (layer > 1 || !isFolded) return first + j;
    return first + furthest(weights.map((_, k) => numbers[first + k]));
  };
  const lineOf = place => {
    const line = experiment.lines[place];
    return isFolded && line?.layer === 1 ? {...line, input: 0} : line;
  };
  const before = layer => experiment.sizes.slice(1, layer).reduce((a, b) => a + b, 0),
    {states} = experiment,
    said = {dead: "{{net.dead}}", saturated: "{{net.saturated}}"};
  const tallest = Math.max(...sizes);
  network.draw({
    sizes,
    called: (layer, i) =>
      isFolded && !layer ? filled("{{table.inputs}}", {n: inputs.length}) : experiment.neuronTitle(layer, i),
    state: (layer, i) => (layer < sizes.length - 1 && said[states[before(layer) + i]]) || "",
    ends: [isFolded ? [String(inputs.length)] : inputs, outputs > 1 ? names : []],
    hue,
    most,
    height: Math.max(250, room, 40 + (tallest > 8 && !isTight ? 42 : 0) * tallest),
    number: (layer, i, j) => numbers[placeOf(layer, i, j)],
    map: (layer, i) => maps[layer][i],
    below: (layer, i) => {
      if (!seen || (isFolded && !layer)) return [];
      const node = layer ? model.layers[layer - 1][i].output : model.inputs[i];
      const short = x => number(+x.toPrecision(2));
      const parts = [{text: short(seen.d[node]), kind: "output"}];
      if (layer) parts.push({text: short(seen.g[node]), kind: "gradient"});
      return parts;
    },
    chosen: {weight: lineOf(chosen.weight), neuron: chosen.neuron}[chosen.kind] ?? null,
    marked: moved && lineOf(moved.weight),
    moves: moved && !isGradient ? (layer, i, j) => moveOf(moved.weights, placeOf(layer, i, j)) : null,
  });
  const shown = experiment.hasPlane ? "{{net.maps}}" : "{{net.maps.weights}}";
  $("about").textContent = isGradient ? thickest(true, most) : shown;
}

// The index of the number that is furthest from 0.
const furthest = list => list.reduce((best, x, k) => (Math.abs(x) > Math.abs(list[best]) ? k : best), 0);

// A weight before and after the last step.
function moveOf(before, place) {
  const [from, to] = [before[place], experiment.training.p[place]].map(x => number(+x.toPrecision(3)));
  return `${from} → ${to}`;
}
