// The formula and its meaning, words, the legend, and a tour.

import {Stage} from "../shared/cards.js";
import {$, listen, make} from "../shared/elements.js";
import {formulaOf, plain, written} from "../shared/formula.js";
import {termOf, word} from "../shared/glossary.js";
import {number} from "../shared/numbers.js";
import {pictureOf} from "../shared/picture.js";
import {Steps} from "../shared/steps.js";
import {filled, partsOf} from "../shared/texts.js";
import {MOST_CARDS, given, loaded, page} from "./state.js";
import {arrowLabel, callName, describe, isLoss, told} from "./words.js";

const LONG = 40; // letters: a longer formula is written with the names of what it is computed from
const MOST_LETTERS = 80; // of an even longer one there are fewer terms

export function showFormula() {
  const {graph, inMath, isFormula, labels, users, leaves} = page.model;
  const isNamed = i => i in labels;
  const called = callName(page.model);
  const write = (i, stop) => {
    const shorter = [14, 7, 4, 2].map(most => formulaOf(graph, i, {stop, called, most}));
    return shorter.find(pieces => plain(pieces).length <= MOST_LETTERS) ?? shorter.at(-1);
  };
  const large = graph.nodes.length > MOST_CARDS;
  const named = [...graph.nodes.keys()].filter(i => i < graph.root && !graph.isLeaf(i) && isNamed(i));
  const shown = [graph.root, ...(large || named.length > 6 ? [] : named)].filter(i => !graph.isLeaf(i));
  const lines = shown.map((i, k) => {
    const whole = k ? [] : write(i, j => isNamed(j) && (large || users[j].length > 1));
    const pieces = k || plain(whole).length > LONG ? write(i, isNamed) : whole;
    const line = make(k ? "span" : "p", k ? "part" : "whole");
    return written(line, isFormula(i) ? pieces : [...inMath(i), " = ", ...pieces]);
  });
  $("formula").replaceChildren(...lines);
  const leaf = page.picked < 0 ? leaves[0] : page.picked;
  $("sentence").replaceChildren();
  if (leaf === undefined) return;
  const values = {gradient: termOf("gradient"), x: inMath(leaf), o: inMath(graph.root)};
  for (const part of partsOf(isLoss(page.model) ? "{{say.meaning}} {{say.error}}" : "{{say.meaning}}", values))
    if (part instanceof Element) $("sentence").append(part);
    else written($("sentence"), part);
}

// Whether it is the graph that Python recorded, and computes what it computed there.
export function showOrigin() {
  const {graph, initial, result} = page.model;
  const again = graph.forward(initial)[graph.root];
  const isStale = result !== null && Math.abs(again - result) > 1e-9 * Math.max(1, Math.abs(result));
  $("stale").textContent = filled("{{stale.leaf}}", {result: number(result ?? NaN)});
  $("stale").hidden = !isStale;
  $("returning").hidden = page.model === page.own;
}

// ---- Words

// The text, with the names of buttons drawn as buttons.
export function withButtons(place, text) {
  const names = ["{{button.forward.title}}", "{{button.step}}", "{{button.nudge}}", "{{button.undo}}"];
  const parts = text.split(RegExp(`(${names.join("|").replace(/[.*+?()[\]]/g, "\\$&")})`));
  place.replaceChildren(...parts.map((part, k) => (k % 2 ? make("kbd", "", part) : part)));
  return place;
}

// The legend.
const rectangle = (className, x, y, rx) =>
  make("rect", {class: className, x, y, width: 26 - 2 * x, height: 16 - 2 * y, rx});
const shape = (kind, name = kind) => {
  const group = make("g", kind, rectangle("outline", 2, 2, {input: 6, parameter: 1}[kind] ?? 3));
  if (kind === "result") group.append(rectangle("inner", 4.5, 4.5, 1.5));
  if (name === "given") group.append(make("path", {class: "strip", d: "M3 3h7v10h-7z"}));
  const icon = make("svg", {viewBox: "0 0 26 16", class: "stage shape"}, group);
  return make("span", "key", icon, termOf(name));
};
const state = (kind, name = kind) => shape(`card ${kind}`, name);
const colour = (kind, name) => make("span", `key ${kind}`, termOf(name));
const isShown = {input: given.graph.kinds.includes("i"), parameter: given.graph.kinds.includes("p")};
$("legend").append(
  ...["input", "parameter", "operation", "result"].filter(kind => isShown[kind] ?? true).map(kind => shape(kind)),
  ...["now", "given", "picked"].map(kind => state(kind)),
  ...[state("later", "dot"), colour("ink", "data"), colour("gradient", "gradient"), colour("local", "local")],
  colour("ink before", "before"),
  ...(given.graph.boxes.length
    ? [make("span", "key gradient", word("back", "{{legend.back}}")), colour("ink", "limit")]
    : []),
);

// ---- The tour

// A part of the page, what is said of it, and the step at which it is said.
/** @type {[string, string, (steps: any) => number][]} */
const TOUR = [
  ["meaning", "{{tour.meaning}}", () => 0],
  ["picture", "{{tour.picture}}", () => 0],
  ["now", "{{tour.forward}}", () => 1],
  ["now", "{{tour.backward}}", ({seedAt}) => seedAt + 1],
  ["now", "{{tour.added}}", ({seedAt}) => seedAt + 1],
  ["tools", "{{tour.tools}}", ({count}) => count - 1],
];
const ADDED = 4; // the part with an example
let stop = -1;
let before = 0; // the step at which it began

// Ahead of the keys of the transport.
const stepTour = event => {
  const by = {ArrowLeft: -1, ArrowRight: 1, Escape: TOUR.length}[event.key];
  if (!TOUR[stop] || !by) return;
  event.preventDefault();
  event.stopPropagation();
  showTour(Math.max(0, stop + by));
};
addEventListener("keydown", stepTour, true);
listen({round: () => showTour(0), tourNext: () => showTour(stop + 1), tourEnd: () => showTour(TOUR.length)});

function showTour(at) {
  if (!TOUR[stop]) before = page.transport.at();
  stop = at;
  for (const [id] of TOUR) $(id).classList.remove("toured");
  $("tour").hidden = !TOUR[at];
  $("meaning").hidden = !TOUR[at] && page.model.view.focus >= 0;
  if (TOUR[at] || $("tour").contains(document.activeElement))
    $(TOUR[at] ? "tourNext" : "round").focus({preventScroll: true});
  if (!TOUR[at]) return page.transport.goTo(before);
  const [id, text, step] = TOUR[at];
  $(id).classList.add("toured");
  $("tour").querySelector("p").textContent = text;
  $("tour").querySelector("span").textContent = filled("{{steps.count}}", {at: at + 1, last: TOUR.length});
  $("tourNext").textContent = at === TOUR.length - 1 ? "{{tour.end}}" : "{{tour.next}}";
  $("twice").toggleAttribute("hidden", at !== ADDED);
  if (at === ADDED) drawTwice();
  page.transport.pause();
  page.transport.goTo(step(page.model.steps));
  besides($(id));
}

// It ends where the reader goes on alone.
export function endTour({at}) {
  if (!TOUR[stop] || at === TOUR[stop][2](page.model.steps)) return;
  before = at;
  showTour(TOUR.length);
}

// Puts the tour where it covers nothing of what it explains: beside it, below it, or above it, and where
// the leaves can be seen.
function besides(explained) {
  const {offsetWidth: width, offsetHeight: height, style} = $("tour");
  explained.scrollIntoView({block: "nearest"});
  const {right, top, bottom} = explained.getBoundingClientRect();
  const below = bottom + height + 10 < innerHeight ? bottom + 10 : top - height - 10;
  const [x, y] = right + width < innerWidth ? [right + 6, top] : [right - width, below];
  style.left = `${Math.max(6, Math.min(x, innerWidth - width - 6))}px`;
  style.top = `${Math.max(6, Math.min(y, innerHeight - height - 6))}px`;
}

// The first operation of the example, a × a, at its backward step: a number that is used twice.
function drawTwice() {
  const {nodes, ...example} = given.example;
  const model = loaded({...example, nodes: nodes.slice(0, 2), kinds: "ir", boxes: [], boxOf: [-1, -1]});
  model.fixed.fill(1); // there is nothing to turn here
  model.view = model.levels.view(new Set());
  model.steps = new Steps(model.graph, model.view, model.numbers);
  const at = model.steps.seedAt + 1;
  const picture = pictureOf(model.steps, at, at, () => false);
  const {chains} = told(model, at);
  for (const [k, arrow] of model.view.arrows.entries())
    picture.arrows[k].label = arrowLabel(model, arrow, chains, new Set());
  const stage = new Stage($("twice"), {});
  stage.draw(model.view, item => describe(model, item));
  stage.fit(1);
  stage.show(picture);
}
