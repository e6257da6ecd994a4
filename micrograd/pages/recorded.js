// The page of a recorded run: the frames that plot/history.py kept, and a transport to go through them.
//
// The run contains, for each frame, the scores of the model on a grid, the outputs of its neurons on a
// coarser one, and the weights with their gradients, all packed as bytes. The page draws the frame that
// the slider selects and does not interpolate between frames.

import {$, listen} from "./shared/elements.js";
import {explainWords} from "./shared/glossary.js";
import {decimals, percent, rough, unpacked} from "./shared/numbers.js";
import {filled} from "./shared/texts.js";
import {makeTransport} from "./shared/transport.js";
import {inputName} from "./learning/assembly.js";
import {ofSign, picture, oncePerFrame, readTheme, redrawnWhenNeeded} from "./learning/canvas.js";
import {showCurve} from "./learning/curves.js";
import {makeNetwork, thickest} from "./learning/network.js";
import {captionOf, drawLegend, drawPlane, fineOf, refined} from "./learning/plane.js";
import {MEANING} from "./learning/words.js";

const {run} = JSON.parse($("data").textContent);
const count = run.steps.length,
  sizes = run.sizes,
  planes = run.names.length > 2 ? run.names.length : 1;
const [columns, rows] = run.grid,
  scores = unpacked(run.scores, Int8Array);
const outputs = run.maps ? unpacked(run.maps, Int8Array) : null;
const shorts = (text = "") => unpacked(text, Int16Array);
const numbers = {weights: shorts(run.weights), gradients: shorts(run.gradients)};
const points = run.points.map((numbers, i) => ({numbers, label: run.labels[i], test: i >= run.trainingPoints}));
const legend = () =>
  drawLegend($("legend"), run.names, {hollow: points.length > run.trainingPoints ? "{{plane.validation}}" : ""});
let now = 0,
  hue = "weights",
  pointed = null,
  pressed = null;
const ask = oncePerFrame(draw);

// The scores of a frame, unpacked, and interpolated before the sigmoid so that the boundary is smooth.
function scoresOf(frame) {
  const start = frame * columns * rows * planes;
  const score = b => (run.units[frame] * b) / (127 - Math.abs(b));
  const surface = plane =>
    Float32Array.from({length: columns * rows}, (_, i) => score(scores[start + i * planes + plane]));
  return Array.from({length: planes}, (_, plane) => refined(surface(plane), columns, rows));
}

// The outputs of a neuron as an image, refined where it is shown large.
const before = layer => sizes.slice(1, layer).reduce((a, b) => a + b, 0);
function mapImage(layer, index, isLarge) {
  const [width, height] = run.mapGrid,
    size = width * height;
  const start = (now * before(sizes.length) + before(layer) + index) * size;
  const own = outputs.subarray(start, start + size);
  if (!isLarge) return picture(width, height, i => ofSign(own[i] / 127));
  const fine = refined(own, width, height);
  return picture(fineOf(width), fineOf(height), i => ofSign(fine[i] / 127));
}

// The weights of a neuron and then its bias, or their gradients, in the current frame.
function numbersOf(kind, layer, index) {
  let start = 0;
  for (let k = 1; k < layer; k++) start += sizes[k] * (sizes[k - 1] + 1);
  const width = sizes[layer - 1] + 1;
  const scale = run[kind === "weights" ? "weightScales" : "gradientScales"][now] / 32000;
  start += (now * numbers[kind].length) / count + index * width;
  return Array.from(numbers[kind].subarray(start, start + width), n => n * scale);
}

const neuronTitle = (layer, index) =>
  layer ? `L${layer - 1}.n${index}` : filled("{{net.input}}", {name: inputName(index)});

function about(known, most) {
  const shown = pointed || pressed,
    isWeight = hue === "weights";
  if (!known) return "{{recorded.changed}}";
  if (!shown?.layer) return thickest(!isWeight, most) + (outputs ? " {{recorded.point}}" : "");
  const own = numbersOf(hue, shown.layer, shown.index).map(x => rough(x, 3)),
    bias = own.pop(),
    neuron = neuronTitle(shown.layer, shown.index);
  const numbers = own.slice(0, 8).join(", ") + (own.length > 8 ? ", …" : "");
  return filled(isWeight ? "{{recorded.weights}}" : "{{recorded.gradients}}", {neuron, numbers, bias});
}

function drawNetwork() {
  const known = hue === "weights" || run.hasGradients[now];
  // Weights have one scale for the whole run, to show their growth. On one scale, gradients would soon
  // be too small to see.
  const most = hue === "weights" ? Math.max(...run.weightScales) : known ? run.gradientScales[now] : 0;
  const own = sizes.slice(1).map((size, layer) => Array.from({length: size}, (_, i) => numbersOf(hue, layer + 1, i)));
  network.draw({
    sizes,
    called: neuronTitle,
    ends: [Array.from({length: sizes[0]}, (_, k) => inputName(k)), []],
    hue,
    most,
    height: Math.min(Math.max(170, 60 * Math.max(...sizes) + 34), 560),
    number: (layer, i, j) => (known ? own[layer - 1][i][j] : NaN),
    map: (layer, i) => (outputs && layer ? mapImage(layer, i, false) : null),
    state: () => "",
    below: () => [],
    chosen: pointed || pressed,
  });
  $("about").textContent = about(known, most);
}

function drawCurve(id) {
  const {steps, unit, training, validation} = run;
  const main = training[id] ?? steps.map(() => null);
  showCurve(id, {steps, unit, main, other: validation[id], now, height: 130, both: "{{curve.validation}}"});
}

function draw() {
  const {unit, steps, training} = run,
    known = training.loss?.[now] ?? null;
  const [loss, share] = [known === null ? "{{recorded.unknown}}" : decimals(known), percent(training.accuracy[now])];
  const words = filled("{{recorded.says}}", {unit, at: steps[now], last: steps.at(-1), loss, share});
  $("slider").setAttribute("aria-valuetext", words);
  // A screen reader should not announce twelve frames per second.
  $("said").setAttribute("aria-live", transport.isPlaying() ? "off" : "polite");
  $("said").textContent = words;
  $("boundary").setAttribute("aria-label", filled("{{plane.recorded}}", {n: points.length}));
  const shown = outputs && (pointed || pressed);
  const {low, high, truth} = run,
    ratio = Math.max(0.6, Math.min(run.ratio, 2.4)),
    grid = {columns: fineOf(columns), rows: fineOf(rows), surfaces: scoresOf(now)},
    inside = shown?.layer ? mapImage(shown.layer, shown.index, true) : null;
  drawPlane($("boundary"), {grid, inside, low, high, ratio, points, truth});
  $("plane-about").textContent = captionOf(shown?.layer && neuronTitle(shown.layer, shown.index));
  drawCurve("loss");
  drawCurve("accuracy");
  $("key").hidden = !run.validation.loss && !run.validation.accuracy;
  if (run.weights) drawNetwork();
}

const network = makeNetwork($("network"), {
  onNeuron: (layer, index) => {
    pressed = pressed?.layer === layer && pressed.index === index ? null : {layer, index};
    ask();
  },
  onPoint: (layer, index) => {
    pointed = layer === null ? null : {layer, index};
    ask();
  },
});
const LIVE = "training data-panel details arithmetic layers activation-field hint figures table per-class";
for (const id of LIVE.split(" ")) $(id).remove();
$("playback").hidden = false;
$("page").classList.add("recorded");
$("truth").hidden = !run.truth.length;
$("key-test").replaceWith("{{recorded.tested}}");
const showLines = name => () => {
  hue = name;
  ask();
};
listen({"show-weights": showLines("weights"), "show-gradients": showLines("gradients")});
if (!run.weights) {
  for (const id of ["inside-head", "network"]) $(id).hidden = true;
  $("inside").hidden = !sizes.length;
  $("about").textContent = filled("{{recorded.large}}", {n: sizes[0], sizes: sizes.slice(1).join(", ")});
}
readTheme(false);
legend();
const show = at => {
  now = at;
  ask();
};
const transport = makeTransport({count: () => count, show, pace: 80});
redrawnWhenNeeded(isNow => {
  legend();
  (isNow ? draw : ask)();
});
transport.goTo(0);
draw();
explainWords(name => MEANING[name]);

// For tests.
export const page = {now: () => now, count, scoresOf, transport, fine: [fineOf(columns), fineOf(rows)]};
