// The state of the stepping page, and what changes it.

import {$} from "../shared/elements.js";
import {Levels} from "../shared/levels.js";
import {number, useFractions} from "../shared/numbers.js";
import {Graph} from "../shared/program.js";
import {Steps} from "../shared/steps.js";
import {filled} from "../shared/texts.js";
import {showMistake} from "./drawer.js";
import {namesOf} from "./formula.js";
import {showFormula} from "./meaning.js";
import {describe} from "./moment.js";
import {resize, showFolds} from "./room.js";
import {choose, leafOption, showMoves, unit} from "./trying.js";

export const MOST_CARDS = 40;
export const MOST_ROWS = 200;
const MOST_LEAVES = 1000;
export const MOST_OPENED = 300; // cards

export const given = JSON.parse($("data").textContent);

/** @type {any} */
export const page = {
  own: null, // the graph that Python recorded
  model: null, // the graph on display: that one, or the small example
  stage: null,
  transport: null,
  past: [], // what Undo goes back to
  open: new Set(), // boxes
  mistake: "",
  victim: -1, // the node whose local derivative is wrong
  nudging: false,
  picked: -1, // a leaf
  chosen: false, // whether the reader picked it
  rate: given.learningRate,
  descent: [], // the results after each step down the gradient
  lesson: null, // what the last step down the gradient did
  asking: false, // predict
  answered: new Set(), // which numbers of which step have been found
  shownAt: -1,
  panel: "", // of the drawer
};

// What Undo restores, apart from the numbers of the leaves.
const KEPT = ["model", "mistake", "victim", "descent", "lesson"];

export function loaded(data) {
  const graph = new Graph(data);
  const names = namesOf(graph, data.labels, data.kinds);
  const fixed = new Uint8Array(graph.nodes.length); // leaves of user-defined operations
  for (let i = graph.root; i >= 0; i--)
    if (fixed[i] || !graph.isKnown(i)) for (const o of graph.operands(i)) fixed[o] = 1;
  const leaves = graph.nodes.flatMap((_, i) => (graph.isLeaf(i) && data.kinds[i] !== "c" ? [i] : []));
  const free = leaves.filter(i => !fixed[i]);
  // as a reader looks for them: inputs, then parameters, w2 before w10
  const natural = new Intl.Collator("en", {numeric: true});
  const kind = i => data.kinds.charCodeAt(i);
  leaves.sort((a, b) => kind(a) - kind(b) || natural.compare(names.name(a), names.name(b)));
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
    levels: new Levels(graph, data.boxes, data.boxOf),
    initial: new Map(graph.leaves),
    numbers: new Map(graph.leaves),
  };
}

// Draws anew what depends on which boxes are open.
export function unfolded() {
  page.model.view = page.model.levels.view(page.open);
  recompute(false);
  page.stage.draw(page.model.view, describe);
  resize();
}

// Computes anew what depends on the leaves and on the mistake.
export function recompute(draw = true) {
  const {model, mistake, victim} = page;
  const {graph, view, numbers} = model;
  model.right = new Steps(graph, view, numbers);
  model.steps = mistake ? new Steps(graph, view, numbers, mistake, victim) : model.right;
  showMistake();
  if (draw) page.transport.goTo(page.transport.at());
}

export function remember(what) {
  if (page.past.at(-1)?.what === what && what.startsWith("turn")) return; // one turn of a knob, many small moves
  const kept = Object.fromEntries(KEPT.map(key => [key, page[key]]));
  page.past.push({what, kept, numbers: new Map(page.model.numbers)});
  if (page.past.length > 200) page.past.shift();
  $("undo").disabled = false;
}

export function undo() {
  const before = page.past.pop();
  if (!before) return;
  if (before.kept.model !== page.model) show(before.kept.model);
  Object.assign(page, before.kept);
  page.model.numbers = before.numbers;
  $("undo").disabled = !page.past.length;
  recompute();
}

// ---- Another graph

export function show(model, finish = true) {
  Object.assign(page, {model, descent: [], lesson: null, answered: new Set(), shownAt: -1});
  Object.assign(page, {picked: model.first, chosen: false});
  useFractions(model.fractions);
  page.open = model.levels.opened(given.level, MOST_CARDS);
  if (model.levels.count(page.open) > 400) page.open = model.levels.opened(null, MOST_CARDS);
  $("leaf").replaceChildren(...model.leaves.slice(0, MOST_LEAVES).map(leafOption));
  if (page.picked >= 0) {
    choose(page.picked);
    $("delta").value = unit(page.picked) / 10;
  }
  showMoves(model);
  $("returning").hidden = model === page.own;
  $("stale").hidden = true;
  if (finish) begun();
}

// What a graph looks like at first.
export function begun() {
  unfolded();
  showFormula();
  showFolds();
  resize(); // now that the height of the formula is known
  const {steps, graph, result, fractions} = page.model;
  const again = steps.d[graph.root];
  const isStale = result !== null && Math.abs(again - result) > 1e-9 * Math.max(1, Math.abs(result));
  const notes = [];
  if (isStale) notes.push(filled("{{stale.leaf}}", {result: number(result)}));
  if (fractions.length) notes.push("{{stale.fractions}}");
  $("stale").textContent = notes.join(" ");
  $("stale").hidden = !notes.length;
}
