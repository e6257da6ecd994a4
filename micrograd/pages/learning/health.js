// What keeps a network from learning, as far as the page sees it. A pure function.

import {number, round} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";

const LARGE = 20; // an input: neurons saturate or die at the first step
const SATURATED = 0.97; // tanh: its derivative is below 0.06 there
const MOSTLY = 0.9; // share of the points at which a neuron is saturated
const WORSE = 2; // times the best loss so far
const PLATEAU = 50; // losses on the curve
const NAMED = 3;
const BINS = 30;

// What keeps each hidden neuron from learning: "dead", "saturated" or nothing. `outputs` has the outputs of all neurons
// for each point, layer by layer.
export function statesOf(outputs, sizes, activations) {
  const kinds = activations.slice(0, -1).flatMap((kind, k) => Array.from({length: sizes[k + 1]}, () => kind));
  const isMostly = (k, share, test) => outputs.filter(out => test(out[k])).length >= share * outputs.length;
  return kinds.map((kind, k) => {
    if (kind === "relu" && isMostly(k, 1, out => out === 0)) return "dead";
    return kind === "tanh" && isMostly(k, MOSTLY, out => Math.abs(out) > SATURATED) ? "saturated" : "";
  });
}

// {text, isLarge}: a sentence or "", and whether it is about numbers that are too large. `states` and `names` are those
// of the hidden neurons; `losses` is the curve; `withTenth()` says what a tenth of the learning rate would have done.
export function findingOf({points, states, names, losses, withTenth}) {
  const most = points.reduce((most, {numbers}) => Math.max(most, ...numbers.map(Math.abs)), 0);
  if (most > LARGE) return {text: filled("{{train.found.inputs}}", {x: number(most)}), isLarge: true};
  const told = (text, kind) => {
    const found = names.filter((_, k) => states[k] === kind),
      some = [...found.slice(0, NAMED), ...(found.length > NAMED ? ["…"] : [])];
    return found.length ? filled(text, {n: found.length, all: states.length, names: some.join(", ")}) : "";
  };
  const last = losses.at(-1),
    recent = losses.slice(-PLATEAU);
  const isStill = recent.length === PLATEAU && Math.max(...recent) - Math.min(...recent) < 1e-3 * last;
  const text =
    (losses.length > 5 && last > WORSE * Math.min(...losses) && `{{train.found.rate}} ${withTenth()}`) ||
    told("{{train.found.dead}}", "dead") ||
    told("{{train.found.saturated}}", "saturated") ||
    (isStill && "{{train.found.plateau}}") ||
    "";
  return {text, isLarge: false};
}

// Histograms of lists of numbers on one axis from -most to most, as paths 30 wide and 10 high; of no numbers, none.
export function histograms(lists) {
  const most = lists.flat().reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;
  const path = numbers => {
    const counts = new Array(BINS).fill(0);
    for (const x of numbers) counts[Math.min(BINS - 1, Math.floor((x / most + 1) * (BINS / 2)))]++;
    const largest = Math.max(...counts);
    return largest ? `M0 10${counts.map(n => `V${round(10 - (10 * n) / largest)}h1`).join("")}V10z` : "";
  };
  return {most, paths: lists.map(path)};
}

// Ratios as a line of the same size, which ends in a dot: 1 is at the top, a millionth at the bottom, so a thousandth in
// the middle. The first one is not known.
export function ratioLine(ratios) {
  const height = x => Math.min(10, Math.max(0, (-10 / 6) * Math.log10(x)));
  const place = (x, k) => (x > 0 ? [`${(30 * k) / (ratios.length - 1)} ${height(x)}`] : []);
  return `M${ratios.flatMap(place).join("L") || "0 0"}h0`;
}
