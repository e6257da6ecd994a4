// Formulas as mathematics: x₁w₁ + b, not x1 * w1 + b. Pure functions, apart from the last.
//
// A formula is a list of pieces: texts, and {sub}, {sup}, {name} with lists or texts inside.

import {make} from "./elements.js";
import {inFormula, number} from "./numbers.js";
import {filled, partsOf} from "./texts.js";

export const [SUM, PRODUCT, SIGN, POWER, WHOLE] = [1, 2, 3, 4, 5]; // from loose to tight
const LOWERED = "₀₁₂₃₄₅₆₇₈₉";
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LONGEST = 12; // letters of a formula that serves as a name

// A name in mathematics: x1, logits[0], W[0][2] and sum₂ have subscripts.
function nameInMath(text) {
  const [, letter, digits, array, index = ""] =
    /^(\p{L}{1,2})_?(\d{1,3})$|^(.+?)((?:\[\d+\])+|[₀-₉][₀-₉,]*)$/u.exec(text) ?? [];
  const sub = (digits ?? index.replace(/^\[|\]$/g, "").replaceAll("][", ",")).normalize("NFKC");
  return sub ? [{name: letter ?? array}, {sub}] : [{name: text}];
}

// The names of all nodes: {name(i), inMath(i, rank), isFormula(i)}, as a text, as pieces, and whether it
// is a formula: a node without a label is called by its formula if this is short, else what `other` gives,
// which is asked once for each.
export function namesOf(graph, labels, kinds, other) {
  const names = new Map(),
    formulas = new Map(),
    taken = new Set(Object.values(labels));
  for (const [i, label] of Object.entries(labels)) {
    const short = inline(nameInMath(label));
    names.set(+i, short === label || taken.has(short) ? label : short);
    taken.add(short);
  }
  const name = i => names.get(i);
  const inMath = (i, rank = 0) => {
    if (!formulas.has(i)) return nameInMath(name(i));
    return bracketed(formulas.get(i), rank);
  };
  const isNumber = j => kinds[j] === "c" && !(j in labels);
  const called = (j, rank) => (isNumber(j) ? [(rank ? inFormula : number)(graph.leaves.get(j))] : inMath(j, rank));
  const isClear = j => kinds[j] === "c" || names.has(j);
  if (graph.nodes.length <= 400)
    graph.nodes.forEach((_, i) => {
      if (graph.isLeaf(i) || names.has(i) || !graph.operands(i).every(isClear)) return;
      const found = rankedFormula(graph, i, {stop: j => !formulas.has(j), called}),
        text = inline(found[0]);
      if ([...text].length > LONGEST || taken.has(text)) return;
      taken.add(text);
      names.set(i, text);
      formulas.set(i, found);
    });
  for (const i of graph.nodes.keys()) if (!names.has(i)) names.set(i, other(i));
  return {name, inMath, isFormula: i => formulas.has(i)};
}

// The formula of node i in the graph. `stop(j)` tells which operands appear as their names;
// `called(j, rank)` is the name of node j, as pieces; `most` limits the number of leaves.
export const formulaOf = (...about) => rankedFormula(...about)[0];

// The same, and how tightly it binds.
function rankedFormula(graph, i, {stop, called, most = 24}) {
  let left = most;
  const isSum = j => !graph.isLeaf(j) && graph.rule(j).op === "+";
  const operand = (j, rank, deep) => {
    if (graph.isLeaf(j) || stop(j) || deep > 8) {
      left -= 1;
      return called(j, rank);
    }
    return left > 0 ? bracketed(formula(j, deep + 1), rank) : ["…"];
  };
  const formula = (j, deep) => {
    if (isSum(j)) return [terms(j, deep), SUM];
    const operands = graph.operands(j);
    return operation(graph.rule(j).op, operands.length, (k, rank) => operand(operands[k], rank, deep));
  };
  // a + b + c + ..., however long it is
  const terms = (j, deep) => {
    const found = [];
    do {
      const [first, second] = graph.operands(j);
      found.unshift(second);
      j = first;
    } while (isSum(j) && !stop(j));
    const pieces = [...operand(j, 0, deep)]; // a copy: the formula of a name is kept
    const op = k => graph.nodes[k][0];
    if (found.length > 5 && found.every(k => op(k) >= 0 && op(k) === op(found[0]))) {
      const isLike = op(j) === op(found[0]); // a bias is not like the products after it
      if (!isLike) pieces.push(" + ", ...operand(found[0], SUM, deep));
      return [...pieces, filled(" + … ({{formula.same}})", {n: found.length + Number(isLike)})];
    }
    for (const [k, term] of found.entries()) {
      if (left <= 0 && found.length - k > 1)
        return [...pieces, filled(" + … ({{formula.more}})", {n: found.length - k})];
      pieces.push(" + ", ...operand(term, SUM, deep));
    }
    return pieces;
  };
  return formula(i, 0);
}

/** @type {(formula: any[], rank: number) => any[]} */
const bracketed = ([pieces, own], rank) => (own < rank ? ["(", ...pieces, ")"] : pieces);

// An operation as pieces, and how tightly it binds. at(k, rank) gives the pieces of operand k.
function operation(op, count, at) {
  if (op === "+") return [[...at(0, SUM), " + ", ...at(1, SUM)], SUM];
  if (op === "-") return [[...at(0, SUM), " − ", ...at(1, PRODUCT)], SUM];
  if (op === "*") return [product(at(0, PRODUCT), at(1, PRODUCT)), PRODUCT];
  if (op === "/") return [[...at(0, PRODUCT), " / ", ...at(1, SIGN)], PRODUCT];
  if (op === "neg") return [["−", ...at(0, SIGN)], SIGN];
  if (op === "abs") return [["|", ...at(0, 0), "|"], WHOLE];
  if (op === "sqrt") return [["√", ...at(0, WHOLE)], POWER];
  if (op === "exp") return [[{name: "e"}, {sup: at(0, 0)}], POWER];
  if (op === "**") return [[...at(0, WHOLE), {sup: at(1, 0)}], POWER];
  if (op.startsWith("**")) return [[...at(0, WHOLE), {sup: op.slice(2).replace("-", "−")}], POWER];
  const inside = Array.from({length: count}, (_, k) => [...(k ? [", "] : []), ...at(k, 0)]);
  return [[op === "ReLU" ? "relu" : op, "(", ...inside.flat(), ")"], WHOLE];
}

// A local derivative as a formula: what the closure was recorded to contribute (see rules.js), for an
// upstream gradient of 1. `called(name, rank)` gives the pieces for x0, x1, ... and y. Empty if it is
// just a number, or long.
export function localInMath(share, called) {
  const simple = formula => {
    if (!Array.isArray(formula)) return formula === "g" ? 1 : formula;
    const [op, a, ...others] = formula.map((part, k) => (k ? simple(part) : part)),
      [b] = others;
    if (op === "*" && a === 1) return b;
    if ((op === "*" || op === "**") && b === 1) return a;
    if (op === "neg" && typeof a === "number") return -a;
    return op === "*" && a === b ? ["**", a, 2] : [op, a, ...others];
  };
  const text = (formula, rank) => {
    if (typeof formula === "number") return [(rank ? inFormula : number)(formula)];
    if (typeof formula === "string") return called(formula, rank);
    const [op, ...operands] = formula;
    const at = (k, rank) => text(operands[k], rank);
    if (op === "<" || op === ">") return [...at(0, SUM), ` ${op} `, ...at(1, SUM)];
    if (op === "where") return partsOf("{{formula.where}}", {condition: at(0, 0), a: at(1, SUM), b: at(2, SUM)}).flat();
    return bracketed(operation(op, operands.length, at), rank);
  };
  const formula = simple(share),
    pieces = typeof formula === "number" ? [] : text(formula, 0);
  return plain(pieces).length > 26 ? [] : pieces;
}

// The pieces on one line of text: x₁w₁.
function inline(pieces) {
  if (typeof pieces === "string") return pieces;
  const small = (text, digits) => text.replace(/\d/g, digit => digits[digit]);
  const shown = piece => {
    if (typeof piece === "string") return piece;
    if (piece.name) return piece.name;
    if (piece.sub) return small(plain(piece.sub), LOWERED);
    const raised = plain(piece.sup);
    return /^\d+$/.test(raised) ? small(raised, RAISED) : `^${raised}`;
  };
  return pieces.map(shown).join("");
}

// Single letters stand side by side: x₁w₁. Everything else has a ×.
function product(a, b) {
  const single = pieces =>
    pieces.every(piece => typeof piece === "object" && (piece.name ? [...piece.name].length === 1 : piece.sub));
  return single(a) && single(b) && plain(a) !== plain(b) ? [...a, ...b] : [...a, " × ", ...b];
}

// The pieces as plain text, in which a product of single letters gets its × back.
export function plain(pieces) {
  if (typeof pieces === "string") return pieces;
  const text = (piece, k) => {
    if (typeof piece === "string") return piece;
    if (piece.name) return (k && typeof pieces[k - 1] === "object" ? " × " : "") + piece.name;
    return piece.sup ? `^${plain(piece.sup)}` : plain(piece.sub);
  };
  return pieces.map(text).join("");
}

// The pieces as elements, to be put into `parent`.
export function written(parent, pieces) {
  for (const piece of typeof pieces === "string" ? [pieces] : pieces) {
    const [[kind, inside]] = typeof piece === "string" ? [["", piece]] : Object.entries(piece);
    if (!kind) parent.append(inside);
    else parent.append(kind === "name" ? make("var", "", inside) : written(make(kind), inside));
  }
  return parent;
}
