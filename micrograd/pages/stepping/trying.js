// What the reader tries: predict a number, turn and nudge a leaf, take a step down the gradient.

import {TURNS} from "../shared/cards.js";
import {$, make, press, strong} from "../shared/elements.js";
import {counted, inFormula, number, round, signed} from "../shared/numbers.js";
import {shownNode} from "../shared/picture.js";
import {filled} from "../shared/texts.js";
import {showStep, withButtons} from "./moment.js";
import {page, recompute, remember} from "./state.js";
import {firstFew, movingKind, waiting} from "./words.js";

// ---- 1. Predict: the numbers of a step stay hidden until they have been typed

function questions({step, state, chains}) {
  const {model} = page;
  if (step.phase === "forward" && state.changes.length) {
    const i = shownNode(model.view.items.get(step.item));
    return i < 0 ? [] : [{node: i, text: `${model.name(i)} = `, value: state.d[i]}];
  }
  const nodes = [...new Set(chains.map(({node}) => node))].slice(0, 4);
  const ask = node => filled("{{ask.gradient}}", {name: model.name(node)});
  return nodes.map(node => ({node, text: ask(node), value: state.g[node]}));
}

export function hiddenAt(at, now) {
  if (!page.asking) return new Set();
  const nodes = questions(now).map(({node}) => node);
  return new Set(nodes.filter(node => !page.answered.has(`${at}/${node}`)));
}

export function predict() {
  page.asking = !page.asking;
  page.answered.clear();
  press("predict", page.asking);
  if (page.asking) page.transport.pause();
  if (page.asking && page.transport.at() === 0) page.transport.goTo(1);
  else showStep(page.transport.at());
}

export function askQuestion(at, now, hidden) {
  const question = questions(now).find(({node}) => hidden.has(node));
  $("question").hidden = !question;
  if (!question) return;
  const {node, text, value} = question;
  $("asked").textContent = text;
  $("answer").value = "";
  const finish = said => {
    page.answered.add(`${at}/${node}`);
    showStep(at);
    showVerdict(true, filled(said, {x: number(value)}));
  };
  $("question").onsubmit = event => {
    event.preventDefault();
    const [above, below = 1] = $("answer").value.replace("−", "-").replace(",", ".").split("/").map(Number);
    const typed = above / below;
    if ($("answer").value.trim() === "" || Number.isNaN(typed)) return showVerdict(false, "{{ask.number}}");
    const isClose = Math.abs(typed - value) <= Math.max(0.01 * Math.abs(value), 1e-12);
    if (isClose || number(typed) === number(value)) finish("{{ask.right}}");
    else showVerdict(false, now.step.phase === "forward" ? "{{ask.forward}}" : "{{ask.backward}}");
  };
  $("tell").onclick = () => finish("{{ask.told}}");
}

function showVerdict(isRight, text) {
  $("verdict").hidden = false;
  $("verdict").className = isRight ? "good" : "wrong";
  $("verdict").textContent = `${isRight ? "✓" : "✗"} ${text}`;
}

// ---- 2. Leaves: knobs, nudge, one step down

// The size of one turn: about a hundredth of a typical size of the leaf.
export function unit(leaf) {
  const size = Math.abs(page.model.initial.get(leaf));
  const isUsual = (size > 0.1 && size < 1) || !size || !Number.isFinite(size);
  return 10 ** (Math.floor(Math.log10(isUsual ? 1 : size)) - 1);
}

export function turn(leaf, steps) {
  setLeaf(leaf, +(page.model.numbers.get(leaf) + steps * unit(leaf)).toPrecision(12));
}

// Up and down in the field turn the knob.
export function typeTurn(event) {
  const steps = TURNS[event.key];
  if (!steps) return;
  event.preventDefault();
  turn(page.picked, steps);
  $("value").value = +page.model.numbers.get(page.picked).toPrecision(5);
}

export function setLeaf(leaf, value) {
  if (!Number.isFinite(value) || page.model.fixed[leaf]) return;
  remember(`turn ${leaf}`);
  page.model.numbers.set(leaf, value);
  page.lesson = null;
  recompute();
}

export const leafOption = leaf => make("option", {value: leaf}, page.model.name(leaf));

// Selects the leaf in the list, which is too short for all leaves of a large graph.
export function choose(leaf) {
  if (![...$("leaf").options].some(({value}) => +value === leaf)) $("leaf").append(leafOption(leaf));
  $("leaf").value = leaf;
}

export function pick(leaf) {
  Object.assign(page, {picked: leaf, chosen: true});
  choose(leaf);
  $("delta").value = unit(leaf) / 10;
  showStep(page.transport.at());
}

export function showLeaf() {
  const {model, picked} = page;
  const value = model.numbers.get(picked);
  const fixed = picked < 0 || model.fixed[picked];
  for (const id of ["value", "less", "more", "nudge"]) $(id).disabled = Boolean(fixed);
  $("value").title = fixed ? "{{leaf.fixed}}" : "{{leaf.turn}}";
  if (document.activeElement !== $("value")) $("value").value = value === undefined ? "" : +value.toPrecision(4);
}

export function setNudging(isOn) {
  page.nudging = isOn;
  if (isOn) page.lesson = null; // one experiment at a time
  showStep(page.transport.at());
}

// The move of the result that the gradient predicts, beside the actual one.
function nudgeAt(at, state) {
  const {model, nudging, picked} = page;
  const {graph, steps, numbers} = model;
  const delta = +$("delta").value;
  if (!nudging || picked < 0 || !delta) return null;
  const complete = at >= steps.seedAt && state.seeded[picked] && !waiting(model, picked, state);
  const to = graph.forward(new Map(numbers).set(picked, numbers.get(picked) + delta));
  const actual = state.known[graph.root] ? to[graph.root] - steps.d[graph.root] : NaN;
  return {delta, to, predicted: complete ? state.g[picked] * delta : NaN, actual, complete};
}

// The data of all nodes before and after the nudge or the last step down the gradient, or null.
export function changeAt(at, state) {
  const nudge = nudgeAt(at, state);
  const {d, count} = page.model.steps;
  if (nudge) return {from: d, to: nudge.to};
  return page.lesson && at === count - 1 ? {from: page.lesson.d, to: d} : null;
}

export function addBadge(at, state, cards) {
  const nudge = nudgeAt(at, state);
  const card = cards.get(page.model.view.itemOf[page.model.graph.root]);
  if (!nudge || !card) return;
  const line = (text, className, move) => [
    ["plain", `${text} `],
    [className, signed(move)],
  ];
  card.badge = [line("{{nudge.grad}}", "gradient", nudge.predicted), line("{{nudge.moved}}", "plain", nudge.actual)];
}

export function showNudge(at, state) {
  const {model, picked} = page;
  const nudge = nudgeAt(at, state);
  press("nudge", page.nudging);
  $("nudged").hidden = !nudge;
  if (!nudge) return;
  const longest = Math.max(Math.abs(nudge.predicted) || 0, Math.abs(nudge.actual) || 0) || 1;
  const bar = (text, value, className) => {
    const line = make("i", className);
    line.style.width = `${(100 * (Math.abs(value) || 0)) / longest}%`;
    return make("div", "bar", make("span", "", text), make("span", "track", line), strong(signed(value), className));
  };
  const words = filled(nudge.complete ? "{{nudge.says}}" : "{{nudge.unknown}}", {
    leaf: model.name(picked),
    result: model.name(model.graph.root),
    move: signed(nudge.delta),
    gradient: number(state.g[picked]),
    size: inFormula(nudge.delta),
  });
  const isRight = number(nudge.predicted) === number(nudge.actual);
  const verdict = nudge.complete ? ` ${isRight ? "{{nudge.does}}" : "{{nudge.nearly}}"}` : "";
  $("nudged").replaceChildren(
    bar("{{nudge.predicted}}", nudge.predicted, "gradient"),
    bar("{{nudge.actual}}", nudge.actual, "ink"),
    make("p", "", words + verdict),
  );
}

// Each parameter (or each leaf, if none is a parameter) moves against its gradient.
// Before the first step: what it will move.
export function showMoves(model) {
  $("oneStep").title = filled("{{explain.step.title}}", {leaf: movingKind(model)});
  $("moves").hidden = !model.allMove;
  withButtons($("moves"), filled("{{step.all}}", {leaves: firstFew(model.moving.map(model.name), 8)}));
}

export function oneStep() {
  const {model, rate, descent} = page;
  const {moving, graph, numbers, steps} = model;
  page.transport.pause();
  const {d} = steps;
  const g = steps.gradients();
  remember("one step");
  const moves = moving.map(i => ({node: i, from: numbers.get(i), grad: g[i], to: numbers.get(i) - rate * g[i]}));
  const before = d[graph.root];
  for (const {node, to} of moves) numbers.set(node, to);
  Object.assign(page, {nudging: false, lesson: null});
  recompute(false);
  const after = model.steps.d[graph.root];
  page.lesson = {d, before, after, count: moves.length, rows: moves.slice(0, 6)};
  page.descent = [...(descent.length ? descent : [before]), after];
  page.transport.goTo(model.steps.count - 1);
}

export function showDescent() {
  const {model, lesson, rate, descent} = page;
  $("descent").hidden = !lesson;
  if (!lesson) return;
  const {before, after, count, rows} = lesson;
  const way = after < before ? " {{step.smaller}}" : after > before ? " {{step.larger}}" : "";
  const head = [`${model.name(model.graph.root)}: `, strong(number(before)), " → ", strong(number(after)), ".", way];
  const lines = rows.map(({node, from, grad, to}) => {
    const product = [`${number(from)} − ${number(rate)} × `, make("span", "gradient", inFormula(grad))];
    const sum = make("td", "", ...product, " = ", strong(number(to)), grad ? "" : ": {{step.stays}}");
    return make("tr", "", make("td", "", model.name(node)), sum);
  });
  const more = count > rows.length ? filled("{{list.rest}}", {n: counted(count - rows.length)}) : "";
  const inputs = !model.allMove && model.kinds.includes("i") ? " {{step.inputs}}" : "";
  $("descent").replaceChildren(
    make("p", "", ...head),
    make("table", "", ...lines),
    make("p", "faint", more),
    make("p", "", `{{step.rule}}${inputs}`),
    descent.length > 2 ? sparkline(descent) : "",
  );
}

// A small curve of the result after each step.
function sparkline(values) {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low || 1;
  const x = k => 8 + (244 * k) / Math.max(1, values.length - 1);
  const y = v => 8 + 44 * (1 - (v - low) / span);
  const points = values.map((v, k) => [x(k), y(v)]).filter(point => Number.isFinite(point[1]));
  const ends = {first: number(values[0]), last: number(values.at(-1))};
  const label = filled("{{step.curve}}", {n: values.length - 1, ...ends});
  const dots = points.length < 40 ? points : points.slice(-1);
  return make(
    "svg",
    {viewBox: "0 0 260 60", class: "curve", role: "img", "aria-label": label},
    make("polyline", {points: points.map(p => p.map(round).join(",")).join(" ")}),
    ...dots.map(([cx, cy]) => make("circle", {cx, cy, r: 3})),
  );
}
