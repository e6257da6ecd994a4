// The result against the chosen leaf: a curve, the point of now, and the tangent, whose slope is the gradient. A nudge
// moves the point; what is left between curve and tangent is the error of the prediction.

import {$, make} from "../shared/elements.js";
import {number, round} from "../shared/numbers.js";
import {isPresenting} from "../shared/present.js";
import {filled} from "../shared/texts.js";
import {page, unit} from "./state.js";

const [WIDTH, HEIGHT] = [230, 150];
const BOX = {left: 60, right: WIDTH - 10, top: 24, bottom: HEIGHT - 22};
const SAMPLES = 60;
/** @type {any} */
let drawn = {of: null, leaf: -1, reach: 0, points: []}; // the curve changes with the leaves, not with the steps

function curveOf(leaf, reach) {
  const {right: of, graph, numbers} = page.model;
  if (drawn.of === of && drawn.leaf === leaf && drawn.reach === reach) return drawn.points;
  const moved = new Map(numbers);
  const points = Array.from({length: SAMPLES + 1}, (_, k) => {
    const x = numbers.get(leaf) + reach * ((2 * k) / SAMPLES - 1);
    return [x, graph.forward(moved.set(leaf, x))[graph.root]];
  });
  drawn = {of, leaf, reach, points};
  return points;
}

const inShort = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

// How far the curve goes to both sides: five turns of the knob, or as far as a nudge needs.
const reachOf = (leaf, delta) => Math.max(5 * unit(leaf), 1.5 * Math.abs(delta));

// Where on the curve the pointer is, as a move of the leaf: a tenth of a turn is the least.
export function moveAt({clientX}) {
  const {picked, delta} = page;
  const {left, width} = $("slope").getBoundingClientRect();
  const share = (((clientX - left) / width) * WIDTH - BOX.left) / (BOX.right - BOX.left);
  const least = unit(picked) / 10;
  return +(Math.round(((2 * share - 1) * reachOf(picked, delta)) / least) * least).toPrecision(6);
}

export function showSlope({state, hidden, isComplete, nudge, isNudged}) {
  const {model, picked, delta} = page;
  const {root} = model.graph;
  const isKnown = state.known[root] && !hidden.has(root);
  const [x, y, slope] = [model.numbers.get(picked), state.d[root], isComplete ? state.g[picked] : NaN];
  const isSloped = Number.isFinite(slope);
  const [leaf, result] = [picked, root].map(i => model.name(i) ?? "");
  const plot = $("slope");
  $("plot").hidden = picked < 0 || Boolean(model.fixed[picked]) || (isPresenting() && !(isNudged && isKnown));
  const said = {leaf, result, x: number(x), y: number(y), slope: number(slope), size: number(-slope)};
  const isWrong = model.wrong.some(([i]) => i === picked); // a mistake: then it is no slope
  const tangent = slope < 0 ? "{{slope.falling}}" : "{{slope.tangent}}";
  const sloped = !isComplete ? "{{slope.unknown}}" : isWrong ? "{{slope.beside}}" : tangent;
  const gap = nudge && isSloped ? " {{slope.gap}}" : "";
  $("curve").textContent = filled(isKnown ? `{{slope.curve}} ${sloped}${gap}` : "{{slope.later}}", said);
  const {left, right, top, bottom} = BOX;
  const text = (className, x, y, content, anchor = "start") =>
    make("text", {class: className, x, y, "text-anchor": anchor}, content);
  const nameOfResult = text("name", left - 6, top + 6, inShort(result, 6), "end");
  const names = [nameOfResult, text("name", right, bottom + 16, inShort(leaf, 9), "end")];
  const isFresh = state.changes.some(({node}) => node === picked);
  plot.classList.toggle("fresh", isFresh); // it forms with the gradient
  plot.replaceChildren(make("path", {class: "axis", d: `M${left} ${top}V${bottom}H${right}`}), ...names);
  if (!isKnown || !Number.isFinite(y)) return;

  const reach = reachOf(picked, nudge ? delta : 0);
  const points = curveOf(picked, reach).filter(point => Number.isFinite(point[1]));
  const ends = nudge && isSloped ? [y + nudge.predicted, y + nudge.actual] : [];
  const heights = [y, ...points.map(point => point[1]), ...ends].filter(Number.isFinite);
  const [low, high] = [Math.min(...heights), Math.max(...heights)];
  const room = 0.12 * (high - low) || 0.1 * Math.abs(y) || 1; // a constant, too, is in the middle
  const across = at => round(left + ((at - x + reach) / (2 * reach)) * (right - left));
  const height = at => bottom - ((at - low + room) / (high - low + 2 * room)) * (bottom - top);
  const up = at => round(Math.max(-9999, Math.min(9999, height(at)))) || 0; // also of a tangent that is nearly upright
  if (up(y) < top + 20) nameOfResult.setAttribute("y", `${bottom - 4}`); // the number of now is at the top
  const line = (className, ...places) =>
    make("path", {class: className, d: `M${places.map(([a, b]) => `${across(a)} ${up(b)}`).join("L")}`});
  const dot = (className, a, b, r = 3.5) => make("circle", {class: className, cx: across(a), cy: up(b), r});
  const frame = {x: 0, y: top, width: right, height: bottom - top};
  const inside = make("svg", {...frame, viewBox: Object.values(frame).join(" ")}, line("curve", ...points));
  plot.append(
    make("path", {class: "guide", d: `M${left} ${up(y)}H${across(x)}V${bottom}`}),
    text("word", left - 6, up(y) + 4, said.y, "end"),
    text("word", across(x), bottom + 16, said.x, "middle"),
  );
  if (isComplete)
    plot.append(text("gradient", right, top - 8, filled(isWrong ? "{{slope.wrong}}" : "{{slope.is}}", said), "end"));
  if (isSloped) inside.append(line("tangent", ...[-reach, reach].map(move => [x + move, y + slope * move])));
  plot.append(inside, dot("point", x, y, 5));
  if (!nudge || !Number.isFinite(nudge.actual)) return;
  if (isSloped) plot.append(dot("predicted", x + delta, ends[0]));
  plot.append(dot("moved", x + delta, y + nudge.actual));
  if (isSloped) plot.append(line("gap", ...ends.map(end => [x + delta, end])));
}
