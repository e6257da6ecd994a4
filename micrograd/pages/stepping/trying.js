// What the reader tries: turn and nudge a leaf, take a step down the gradient.

import {TURNS} from "../shared/cards.js";
import {$, listen, make, press, strong} from "../shared/elements.js";
import {WORDS} from "../shared/glossary.js";
import {counted, inFormula, number, numberFrom, signed, typed} from "../shared/numbers.js";
import {listenToRate, showRate} from "../shared/rate.js";
import {filled} from "../shared/texts.js";
import {showFormula, withButtons} from "./meaning.js";
import {moveAt} from "./slope.js";
import {compute, page, past, pick, recompute, redraw, setLeaf, turn} from "./state.js";
import {firstFew, waiting} from "./words.js";

const MOST_LEAVES = 1000;

listen({leaf: ({target}) => pickLeaf(+target.value)}, "change");
const delta = ({target}) => setNudging(true, numberFrom(target.value));
listen({value: ({target}) => setLeaf(page.picked, numberFrom(target.value)), delta}, "input");
listen({value: typeTurn}, "keydown");
listen({value: showTools}, "blur");
const setRate = rate => {
  page.rate = rate;
  redraw();
};
listenToRate(() => page.rate, setRate);
listen({
  less: () => turn(page.picked, -1),
  more: () => turn(page.picked, 1),
  nudge: () => setNudging(!page.nudging),
  oneStep,
  undo: () => past.undo(),
  reset,
});
document.addEventListener("keydown", (/** @type {any} */ event) => {
  if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.target.matches("input")) return;
  event.preventDefault();
  past.undo();
});

function reset() {
  past.remember();
  page.model.numbers = new Map(page.model.initial);
  Object.assign(page, {mistake: "", nudging: false, descent: [], lesson: null});
  recompute();
}

// ---- Leaves

const leafOption = leaf => make("option", {value: leaf}, page.model.name(leaf));

// Of another graph: its leaves, and what one step will move: each parameter, or each leaf if none is one.
export function listLeaves() {
  const {leaves, allMove, moving, name} = page.model;
  $("leaf").replaceChildren(...leaves.slice(0, MOST_LEAVES).map(leafOption));
  showRate(page.rate);
  $("moves").hidden = !allMove;
  withButtons($("moves"), filled("{{step.all}}", {leaves: firstFew(moving.map(name), 8)}));
}

export function pickLeaf(leaf) {
  pick(leaf);
  showFormula();
  redraw();
}

// Up and down in the field turn the knob.
function typeTurn(event) {
  const steps = TURNS[event.key];
  if (!steps) return;
  event.preventDefault();
  turn(page.picked, steps);
  $("value").value = typed(page.model.numbers.get(page.picked));
}

export function showTools() {
  const {model, picked, delta} = page;
  const value = model.numbers.get(picked);
  const fixed = picked < 0 || model.fixed[picked];
  // the list is too short for all leaves of a large graph
  if (picked >= 0 && ![...$("leaf").options].some(({value}) => +value === picked)) $("leaf").append(leafOption(picked));
  $("leaf").value = picked;
  for (const id of ["value", "less", "more", "nudge"]) $(id).disabled = Boolean(fixed);
  $("value").title = fixed ? "{{leaf.fixed}}" : "{{leaf.turn}}";
  const fields = {value: value === undefined ? "" : typed(value), delta: typed(delta)};
  for (const [id, text] of Object.entries(fields)) if (document.activeElement !== $(id)) $(id).value = text;
  $("undo").disabled = !past.states.length;
}

// ---- Nudge

function setNudging(nudging, delta = page.delta) {
  Object.assign(page, {nudging, delta}, nudging && {lesson: null}); // one experiment at a time
  redraw();
}

// On the curve the pointer moves the point.
const drag = event => event.buttons && setNudging(true, moveAt(event));
for (const name of ["pointerdown", "pointermove"]) $("slope").addEventListener(name, drag);

// Whether the gradient of the chosen leaf is known at this step.
export function isKnownAt(at, state, hidden) {
  const {model, picked} = page;
  const {seedAt} = model.steps;
  return at >= seedAt && state.seeded[picked] && !waiting(model, picked, state) && !hidden.has(picked);
}

// The move of the result that the gradient predicts, beside the actual one.
export function nudgeAt(state, isComplete) {
  const {model, nudging, picked, delta} = page;
  const {graph, steps, numbers} = model;
  if (!nudging || picked < 0 || !delta) return null;
  const to = graph.forward(new Map(numbers).set(picked, numbers.get(picked) + delta));
  const actual = state.known[graph.root] ? to[graph.root] - steps.d[graph.root] : NaN;
  return {to, predicted: isComplete ? state.g[picked] * delta : NaN, actual};
}

export function showNudge(moment) {
  press("nudge", page.nudging);
  $("nudged").hidden = !moment.nudge;
  if (moment.nudge) $("nudged").replaceChildren(make("p", "", toldNudge(moment)));
}

export function toldNudge({state, isComplete, nudge: {predicted, actual}}) {
  const {model, picked, delta} = page;
  const verdict = number(predicted) === number(actual) ? "{{nudge.does}}" : "{{nudge.nearly}}";
  const says = isComplete ? `{{nudge.says}} ${verdict}` : "{{nudge.unknown}}";
  const [leaf, result] = [picked, model.graph.root].map(model.name);
  const [value, gradient] = [model.numbers.get(picked), state.g[picked]].map(number);
  const moves = {move: signed(delta), size: inFormula(delta), predicted: signed(predicted), actual: signed(actual)};
  const values = {leaf, value, result, gradient, ...moves, gap: number(Math.abs(actual - predicted))};
  return filled(`${says} {{nudge.only}}`, values);
}

// ---- One step down the gradient

// What a step does with a leaf.
function moveOf(leaf, grad) {
  const {model, rate} = page;
  const from = model.numbers.get(leaf);
  return {leaf, from, rate, grad, to: from - rate * grad};
}

// The same as a formula: w₁: −3 − 0.1 × 1 = −3.1, without the sum if the gradient is not known yet.
function updateOf({leaf, from, rate, grad, to}) {
  const start = `${page.model.name(leaf)}: ${number(from)} − ${number(rate)} × `;
  if (grad === undefined) return [start, make("span", "gradient", WORDS.gradient)];
  const [old, slope, result] = [from, grad, to].map(x => +x.toPrecision(4));
  const isExact = Math.abs(old - rate * slope - result) <= 1e-9 * Math.abs(to);
  const sum = [isExact ? " = " : " ≈ ", strong(number(to)), grad ? "" : ": {{step.stays}}"];
  return [start, make("span", "gradient", inFormula(grad)), ...sum];
}

function oneStep() {
  const {model, descent} = page;
  const {moving, graph, numbers, steps} = model;
  page.transport.pause();
  const {d} = steps;
  const g = steps.gradients();
  past.remember();
  const moves = moving.map(leaf => moveOf(leaf, g[leaf]));
  for (const {leaf, to} of moves) numbers.set(leaf, to);
  compute();
  const before = d[graph.root];
  const after = model.steps.d[graph.root];
  const rows = [...moves.filter(({grad}) => grad), ...moves.filter(({grad}) => !grad).slice(0, 2)].slice(0, 6);
  const lesson = {d, before, after, count: moves.length, rows};
  Object.assign(page, {nudging: false, lesson, descent: [...(descent.length ? descent : [before]), after]});
  page.transport.goTo(model.steps.count - 1);
  for (const id of ["said", "phase"]) $(id).scrollIntoView({block: "nearest"}); // its beginning, if it is long
}

// What the next step will do with the chosen leaf, and what the last one did.
export function showDescent({state, isComplete, lesson}) {
  const {model, picked, descent} = page;
  const inputs = !model.allMove && model.kinds.includes("i") ? "{{step.inputs}}" : "";
  const next = moveOf(picked, isComplete ? state.g[picked] : undefined);
  $("next").replaceChildren(...(model.moving.includes(picked) ? updateOf(next) : [inputs]));
  $("descent").hidden = !lesson;
  if (!lesson) return;
  const {before, after, count, rows} = lesson;
  const way = after < before ? " {{step.smaller}}" : after > before ? " {{step.larger}}" : "";
  const change = filled(way, {by: number(Math.abs(after - before))}); // the results may be equal as shown
  const results = descent.slice(-6).flatMap((x, k) => [k ? " → " : "", strong(number(x))]);
  const head = [`${model.name(model.graph.root)}: `, descent.length > 6 ? "… → " : "", ...results, ".", change];
  const lines = rows.map(move => make("li", "", ...updateOf(move)));
  if (count > rows.length) lines.push(make("li", "", filled("{{list.rest}}", {n: counted(count - rows.length)})));
  const rule = make("p", "", `{{step.rule}} ${inputs}`);
  $("descent").replaceChildren(make("p", "", ...head), rule, make("ul", "", ...lines));
}
