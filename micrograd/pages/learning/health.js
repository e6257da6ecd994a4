// What keeps a network from learning, as far as the page sees it. A pure function.

import {number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";

const LARGE = 20; // an input: neurons saturate or die at the first step
const SATURATED = 0.97; // tanh: its derivative is below 0.06 there
const MOSTLY = 0.9; // share of the points at which a neuron is saturated
const WORSE = 2; // times the best loss so far
const PLATEAU = 50; // losses on the curve
const NAMED = 3;

// A sentence, or "". `layers` and `activations` are those of the network; `outputs` has the outputs of all neurons
// for each point, layer by layer; `losses` is the curve; `name(layer, index)` is that of a neuron.
export function findingOf({points, layers, activations, outputs, losses, name}) {
  const most = Math.max(...points.flatMap(({numbers}) => numbers.map(Math.abs)));
  if (most > LARGE) return filled("{{train.found.inputs}}", {x: number(most)});
  const neurons = layers.flatMap((all, k) => all.map((_, i) => [k + 1, i]));
  const hidden = [...neurons.keys()].filter(k => neurons[k][0] < layers.length);
  const told = (text, kind, share, test) => {
    const enough = k => outputs.filter(out => test(out[k])).length >= share * outputs.length;
    const found = hidden.filter(k => activations[neurons[k][0] - 1] === kind && enough(k));
    const names = found.slice(0, NAMED).map(k => name(...neurons[k]));
    if (found.length > NAMED) names.push("…");
    return found.length ? filled(text, {n: found.length, all: hidden.length, names: names.join(", ")}) : "";
  };
  const last = losses.at(-1),
    recent = losses.slice(-PLATEAU);
  const isStill = recent.length === PLATEAU && Math.max(...recent) - Math.min(...recent) < 1e-3 * last;
  return (
    told("{{train.found.dead}}", "relu", 1, out => out === 0) ||
    told("{{train.found.saturated}}", "tanh", MOSTLY, out => Math.abs(out) > SATURATED) ||
    (losses.length > 5 && last > WORSE * Math.min(...losses) && "{{train.found.rate}}") ||
    (isStill && "{{train.found.plateau}}") ||
    ""
  );
}
