// The formula and its meaning, words, and the legend.

import {$, make} from "../shared/elements.js";
import {formulaOf, plain, written} from "../shared/formula.js";
import {termOf, word} from "../shared/glossary.js";
import {number} from "../shared/numbers.js";
import {filled, partsOf} from "../shared/texts.js";
import {MOST_CARDS, given, page} from "./state.js";
import {callName, isLoss} from "./words.js";

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
const colour = (kind, name, arrow = "") => make("span", `key ${kind}`, arrow, termOf(name));
const isShown = {input: given.graph.kinds.includes("i"), parameter: given.graph.kinds.includes("p")};
$("legend").append(
  ...["input", "parameter", "operation", "result"].filter(kind => isShown[kind] ?? true).map(kind => shape(kind)),
  ...["now", "given", "picked"].map(kind => state(kind)),
  ...[state("later", "dot"), colour("ink", "data", "→"), colour("gradient", "gradient", "←"), colour("local", "local")],
  colour("ink before", "before"),
  ...(given.graph.boxes.length
    ? [make("span", "key gradient", word("back", "{{legend.back}}")), colour("ink", "limit")]
    : []),
);
