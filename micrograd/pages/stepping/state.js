// The state of the stepping page, and what changes it. It knows no panel of the page: explain.js says which
// functions draw, and in which order.

import {$} from "../shared/elements.js";
import {namesOf} from "../shared/formula.js";
import {Levels, MOST_AT_ONCE} from "../shared/levels.js";
import {Graph} from "../shared/program.js";
import {Past} from "../shared/state.js";
import {Steps} from "../shared/steps.js";

export const MOST_CARDS = 40;
export const MOST_ROWS = 200;
export const MOST_OPENED = 300; // cards

export const given = JSON.parse($("data").textContent);
export const RATE = 0.1; // the learning rate at first

// What a link begins with.
const fresh = () => ({
  open: new Set(), // boxes
  mistake: "",
  victim: -1, // the node whose local derivative is wrong
  nudging: false,
  picked: -1, // a leaf
  delta: 0, // how far a nudge moves it
  rate: RATE,
  descent: [], // the results after each step down the gradient
  lesson: null, // what the last step down the gradient did
  asking: false, // predict
  answered: new Set(), // which numbers of which step have been found
  panel: "", // of the drawer
  values: -1, // the box whose values are shown
  box: -1, // the last one whose values were shown
});

/** @type {any} */
export const page = {
  own: null, // the graph that Python recorded
  model: null, // the graph on display: that one, or the small example
  stage: null,
  transport: null,
};

// The functions that draw another graph, and other boxes of it. (Another step is drawn by the transport.)
export const panels = {graph: () => {}, boxes: () => {}};

export function loaded(data) {
  const graph = new Graph(data);
  const names = namesOf(graph, data.labels, data.kinds, nameless(graph, data));
  const fixed = new Uint8Array(graph.nodes.length); // leaves of user-defined operations
  for (let i = graph.root; i >= 0; i--)
    if (fixed[i] || !graph.isKnown(i)) for (const o of graph.operands(i)) fixed[o] = 1;
  const leaves = graph.nodes.flatMap((_, i) => (graph.isLeaf(i) && data.kinds[i] !== "c" ? [i] : []));
  const free = leaves.filter(i => !fixed[i]);
  // as a reader looks for them: inputs, then parameters, w2 before w10
  const natural = new Intl.Collator("en", {numeric: true});
  const kind = i => data.kinds.charCodeAt(i);
  const plain = i => names.name(i).normalize("NFKC"); // x₁₀ becomes x10
  leaves.sort((a, b) => kind(a) - kind(b) || natural.compare(plain(a), plain(b)));
  const movable = leaves.filter(i => !fixed[i]);
  const parameters = movable.filter(i => data.kinds[i] === "p");
  const users = graph.nodes.map(() => []); // of each node: [the node that uses it, as which operand]
  graph.nodes.forEach(([, ...operands], i) => operands.forEach((o, k) => users[o].push([i, k])));
  return {
    ...data,
    ...names,
    graph,
    fixed,
    leaves,
    users,
    moving: parameters.length ? parameters : movable, // what a step of training moves
    allMove: !parameters.length && movable.length > 0,
    first: free.find(i => data.kinds[i] === "p") ?? free[0] ?? -1,
    delta: 0.01, // how far that leaf is said to move
    levels: new Levels(graph, data.boxes, data.boxOf, data.twins),
    initial: new Map(graph.leaves),
    numbers: new Map(graph.leaves),
  };
}

const COMPUTED = {"+": "{{name.sum}}", "×": "{{name.product}}", "−": "{{name.difference}}", "/": "{{name.quotient}}"};

// Names for nodes without one: sum₂ is the second such sum, query ×₃ the third such product in the box of query.
function nameless(graph, {boxes, boxOf, byBox}) {
  const counts = new Map();
  return i => {
    let j = boxOf[i];
    while (j >= 0 && !["call", "step"].includes(boxes[j].kind)) j = boxes[j].parent;
    const sign = graph.isLeaf(i) ? "" : graph.rule(i).sign;
    const inBox = [j < 0 ? "" : boxes[j].label, sign].join(" ").trim();
    const name = byBox ? inBox : (COMPUTED[sign] ?? (sign || "v"));
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count > 1 || !sign ? name + String(count).replace(/\d/g, digit => "₀₁₂₃₄₅₆₇₈₉"[digit]) : name;
  };
}

// ---- What depends on what

// Takes the graph of Python as it was recorded, and nothing tried yet.
export function beginAgain() {
  Object.assign(page, fresh(), {own: loaded(given.graph)});
  past.states = [];
  take(page.own);
}

// Takes a graph as the one on display, as it looks at first.
export function take(model) {
  Object.assign(page, {model, descent: [], lesson: null, answered: new Set(), open: usuallyOpen(model)});
  pick(model.first);
}

export function show(model = page.model) {
  if (model !== page.model) take(model);
  view();
  panels.graph();
  panels.boxes();
}

export function open(boxes) {
  page.open = boxes;
  view();
  panels.boxes();
}

export const usuallyOpen = ({levels, open}) => levels.complete(open);

function view() {
  const {levels} = page.model;
  levels.most = Math.max(14, Math.min(MOST_AT_ONCE, (innerWidth * innerHeight) / 54_000));
  page.model.view = levels.view(page.open);
  compute();
}

// Computes anew what depends on the leaves and on the mistake.
export function compute() {
  const {model, mistake, victim} = page;
  const {graph, kinds, numbers} = model;
  model.right = new Steps(graph, model.view, numbers);
  model.steps = mistake ? new Steps(graph, model.view, numbers, mistake, victim) : model.right;
  model.wrong = []; // of each gradient that the mistake makes wrong: the node, that gradient, the right one
  if (!mistake) return;
  const [right, played] = [model.right, model.steps].map(steps => steps.gradients());
  const isWrong = i => kinds[i] !== "c" && differs(played[i], right[i]);
  model.wrong = [...graph.nodes.keys()].filter(isWrong).map(i => [i, played[i], right[i]]);
}
const differs = (a, b) => !Object.is(a, b) && !(Math.abs(a - b) <= 1e-12 * Math.max(1e-300, Math.abs(b)));

// Draws the same step in the present state.
export const redraw = () => page.transport.goTo(page.transport.at());

export function recompute() {
  compute();
  redraw();
}

// ---- Changes

const kept = () => {
  const {model, mistake, victim, descent, lesson} = page;
  return {numbers: new Map(model.numbers), state: {model, mistake, victim, descent, lesson}};
};
export const past = new Past(kept, ({numbers, state}) => {
  if (state.model !== page.model) show(state.model);
  Object.assign(page, state);
  page.model.numbers = numbers;
  recompute();
});

export function setLeaf(leaf, value) {
  if (!Number.isFinite(value) || page.model.fixed[leaf]) return;
  past.remember(`turn ${leaf}`);
  page.model.numbers.set(leaf, value);
  page.lesson = null;
  recompute();
}

export function turn(leaf, steps) {
  setLeaf(leaf, +(page.model.numbers.get(leaf) + steps * unit(leaf)).toPrecision(12));
}

// The size of one turn: about a hundredth of a typical size of the leaf.
export function unit(leaf) {
  const size = Math.abs(page.model.initial.get(leaf));
  const isUsual = (size > 0.1 && size < 1) || !size || !Number.isFinite(size);
  return 10 ** (Math.floor(Math.log10(isUsual ? 1 : size)) - 1);
}

export function pick(leaf) {
  page.picked = page.model.first = leaf; // the sentences speak of it
  if (leaf < 0) return;
  page.delta = 2 * unit(leaf); // far enough to see the curve bend
  page.model.delta = unit(leaf) / 10;
}
