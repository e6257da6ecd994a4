// The first lines of the page: where training is, and what the last step did.

import {$, strong} from "../shared/elements.js";
import {decimals, inFormula, number, percent} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {findingOf} from "./health.js";
import {experiment} from "./state.js";

export function say() {
  const {curves, training, examples, isCurve, isRegression} = experiment,
    share = curves.accuracy.at(-1);
  const now = {n: training.steps, loss: decimals(curves.loss.at(-1)), share: percent(share)};
  const figures = filled(isRegression ? "{{train.figures.curve}}" : "{{train.figures}}", now);
  write($("figures"), share === null ? [] : [[figures]]);
  const {text, isLarge} = whatIsWrong();
  write($("said"), [...whatNow(), ...(text ? [[` ${text}`, "wrong"]] : [])]);
  $("scale-now").hidden = !isLarge;
  const plane = filled(isCurve ? "{{plane.says.curve}}" : "{{plane.says}}", {...now, n: examples.length});
  $("boundary").setAttribute("aria-label", plane);
}

// Replaces what a place says, if it is something new: a list of [text, kind].
function write(place, parts) {
  const text = parts.map(([part]) => part).join("");
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren(...parts.map(([part, kind]) => (kind ? strong(part, kind) : part)));
}

function whatNow() {
  const {trouble, moved, training, isFixed, model} = experiment;
  if (trouble) return [[trouble, "wrong"]];
  if (training.steps && experiment.isGoodEnough) return [["{{train.good}}"]];
  if (moved) return whatMoved();
  if (training.steps) return [["{{train.rule}}"]];
  const n = training.p.length,
    biases = isFixed ? 0 : model.layers.flat().length;
  const begin = isFixed ? "{{train.start.fixed}}" : "{{train.start}}";
  return [[filled(begin, {n, weights: n - biases, biases})]];
}

// Nothing before the first step, and nothing of a network that answers all points rightly.
function whatIsWrong() {
  const {trouble, training, trained: points, curves, states, sizes} = experiment;
  if (trouble || !training.steps || curves.accuracy.at(-1) === 1) return {text: "", isLarge: false};
  const hidden = (sizes ?? []).slice(1, -1).flatMap((size, k) => Array.from({length: size}, (_, i) => [k + 1, i]));
  const names = hidden.map(([layer, index]) => experiment.neuronName(layer, index));
  return findingOf({points, states, names, losses: curves.loss, withTenth});
}
function withTenth() {
  const {curves, settings} = experiment;
  const loss = experiment.lossWithTenth();
  const about = {rate: number(settings.rate / 10), x: decimals(loss), now: decimals(curves.loss.at(-1))};
  return loss === null ? "" : filled("{{train.found.tenth}}", about);
}

function whatMoved() {
  const {settings} = experiment,
    {weight, before, after, gradient, losses, isPlain} = experiment.moved;
  const [from, to] = losses.map(decimals),
    way = losses[1] < losses[0] ? "{{train.fell}}" : "{{train.rose}}";
  const loss = filled(from === to ? "{{train.still}}" : way, {from, to});
  if (weight === undefined) return [[`${loss} {{train.unmoved}}`]];
  const start = `${experiment.weightName(weight)}: ${number(before)}`,
    end = `${number(after)}.`;
  const sum = isPlain
    ? [[`${start} − ${number(settings.rate)} × `], [inFormula(gradient), "gradient"], [` = ${end}`]]
    : [[`${start} → ${end}`]];
  const hasLine = experiment.lines[weight] && !experiment.isBias(weight);
  return [[loss], [hasLine ? " {{train.moved}} " : " {{train.moved.fixed}} "], ...sum];
}
