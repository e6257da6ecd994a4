// The formula and its meaning, words, the legend, and a tour of five sentences.

import {$, make} from "../shared/elements.js";
import {formulaOf, written} from "../shared/formula.js";
import {termOf} from "../shared/glossary.js";
import {number} from "../shared/numbers.js";
import {filled, partsOf} from "../shared/texts.js";
import {MOST_CARDS, page} from "./state.js";
import {callName} from "./words.js";

export function showFormula() {
  const {graph, inMath, isFormula, labels, users, leaves} = page.model;
  const isNamed = i => i in labels;
  const write = (i, stop) => formulaOf(graph, i, {stop, called: callName(page.model), most: 14});
  const lines = [];
  if (!graph.isLeaf(graph.root)) {
    const large = graph.nodes.length > MOST_CARDS;
    lines.push([graph.root, write(graph.root, i => isNamed(i) && (large || users[i].length > 1))]);
    const named = [...graph.nodes.keys()].filter(i => i < graph.root && !graph.isLeaf(i) && isNamed(i));
    if (!large && named.length <= 6) for (const i of named) lines.push([i, write(i, isNamed)]);
  }
  $("formula").replaceChildren(
    ...lines.map(([i, pieces], k) => {
      const line = k ? make("span", "part") : make("p", "whole");
      return written(line, isFormula(i) ? pieces : [...inMath(i), " = ", ...pieces]);
    }),
  );
  const leaf = page.picked < 0 ? leaves[0] : page.picked;
  $("sentence").replaceChildren();
  if (leaf === undefined) return;
  const values = {gradient: termOf("gradient"), x: inMath(leaf), o: inMath(graph.root)};
  for (const part of partsOf("{{say.meaning}}", values))
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

export function makeLegend() {
  const rectangle = (className, x, y, rx) =>
    make("rect", {class: className, x, y, width: 26 - 2 * x, height: 16 - 2 * y, rx});
  const shape = (kind, name = kind) => {
    const group = make("g", kind, rectangle("outline", 2, 2, {input: 6, parameter: 1}[kind] ?? 3));
    if (kind === "result") group.append(rectangle("inner", 4.5, 4.5, 1.5));
    const icon = make("svg", {viewBox: "0 0 26 16", class: "stage shape"}, group);
    return make("span", "key", icon, termOf(name));
  };
  const colour = (kind, name) => make("span", `key ${kind}`, termOf(name));
  const group = (...keys) => make("span", "keys", ...keys);
  $("legend").append(
    group(shape("input"), shape("parameter"), shape("operation"), shape("result")),
    group(colour("ink", "data"), colour("gradient", "gradient"), colour("", "dot")),
    group(shape("card now", "now")),
  );
}

// ---- The tour

// A part of the page, and what is said of it.
const TOUR = [
  ["meaning", "{{tour.meaning}}"],
  ["picture", "{{tour.picture}}"],
  ["transport", "{{tour.transport}}"],
  ["now", "{{tour.now}}"],
  ["tools", "{{tour.tools}}"],
];
const TOURED = "micrograd toured";
let stop = 0;

export function makeTour() {
  $("tourNext").addEventListener("click", () => showTour(stop + 1));
  $("tourEnd").addEventListener("click", () => showTour(TOUR.length));
  try {
    if (!localStorage.getItem(TOURED)) $("round").classList.add("main");
  } catch {
    // not allowed in a frame
  }
}

export function showTour(at) {
  stop = at;
  for (const [id] of TOUR) $(id).classList.remove("toured");
  $("tour").hidden = !TOUR[at];
  try {
    localStorage.setItem(TOURED, "yes");
  } catch {
    // not allowed in a frame
  }
  if (!TOUR[at]) return;
  const [id, text] = TOUR[at];
  $(id).classList.add("toured");
  $("tour").querySelector("p").textContent = text;
  $("tour").querySelector("span").textContent = filled("{{steps.count}}", {at: at + 1, last: TOUR.length});
  $("tourNext").textContent = at === TOUR.length - 1 ? "{{tour.end}}" : "{{tour.next}}";
}
