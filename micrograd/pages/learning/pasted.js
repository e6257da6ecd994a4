// Points from pasted CSV text. Pure.

import {filled} from "../shared/texts.js";

// A decimal comma is read, too: "0,5; 1,2".
const numberOf = cell => (cell === "" ? NaN : Number(cell.replace(",", ".")));
// Of names of columns: nan and inf are wrong numbers.
const isName = cell => cell !== "" && Number.isNaN(numberOf(cell)) && !/^[+-]?(nan|inf)/i.test(cell);

// The names of the classes and the class of each label, as micrograd.datasets.read_csv has them: in the order of
// numbers if all are numbers (1, 1.0 and 01 are one class), else in that of the alphabet.
function classesOf(labels) {
  const numbers = labels.map(numberOf);
  const keys = numbers.every(Number.isFinite) ? numbers : labels;
  const classes = [...new Set(keys)].sort(keys === numbers ? (a, b) => a - b : undefined);
  return {names: classes.map(String), indices: keys.map(key => classes.indexOf(key))};
}

// {points, isCurve, names}, or {error}: what was expected, what came, and the fix. Three columns are x1, x2 and the
// class, two are x and a number to predict.
//   names  of the classes;  most: how many points there may be;  widths: how many columns the model can learn from
/** @param {string} text @param {string[]} names @param {number} most @param {number[]} widths @returns {any} */
export function pointsOf(text, names, most, widths) {
  const separator = RegExp(`[${/[;\t]/.test(text) ? ";\t" : ","}](?=(?:[^"]*"[^"]*")*[^"]*$)`); // not in quotes
  const bare = cell => cell.trim().replace(/^"\s*(.*?)\s*"$/, "$1");
  const lines = text.split(/\r?\n/).map((line, i) => ({line: i + 1, cells: line.split(separator).map(bare)}));
  const rows = lines.filter(({cells}) => cells.join(""));
  if (rows.length && rows[0].cells.length > 1 && rows[0].cells.slice(0, 2).every(isName)) rows.shift();
  if (!rows.length || rows.length > most) return {error: filled("{{csv.many}}", {n: rows.length, most})};
  const points = [],
    width = rows[0].cells.length,
    isCurve = width === 2;
  for (const {line, cells} of rows) {
    const numbers = cells.slice(0, 2).map(numberOf);
    if (cells.length !== width || !widths.includes(width))
      return {error: filled("{{csv.columns}}", {line, n: cells.length})};
    if (!numbers.every(Number.isFinite))
      return {error: filled("{{csv.number}}", {line, got: cells.slice(0, 2).join(", ")})};
    points.push({x: numbers[0], y: numbers[1], label: 0});
  }
  if (isCurve) return {points, isCurve, names};
  const labels = rows.map(({cells}) => cells[2]);
  const place = label => {
    const found = names.indexOf(label);
    return found < 0 ? names.findIndex(name => numberOf(name) === numberOf(label)) : found;
  };
  let [called, indices] = [names, labels.map(place)];
  const own = classesOf(labels),
    wrong = labels.includes("") ? labels.indexOf("") : indices.indexOf(-1);
  if (wrong >= 0) {
    const n = names.length;
    if (own.names.length < n || labels[wrong] === "")
      return {error: filled("{{csv.class}}", {line: rows[wrong].line, got: labels[wrong], names: names.join(", ")})};
    if (own.names.length > n) return {error: filled("{{csv.classes}}", {n, got: own.names.join(", ")})};
    [called, indices] = [own.names, own.indices];
  }
  return {points: points.map((point, i) => ({...point, label: indices[i]})), isCurve, names: called};
}
