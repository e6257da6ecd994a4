// Points from a table that was pasted or read from a file. Pure.

import {filled} from "../shared/texts.js";
import {inputName} from "./assembly.js";
import {MOST_CLASSES} from "./experiment.js";

// A decimal comma is read, too: "0,5; 1,2".
const numberOf = cell => (cell === "" ? NaN : Number(cell.replace(",", ".")));
// Of names of columns: nan and inf are wrong numbers.
const isName = cell => cell !== "" && Number.isNaN(numberOf(cell)) && !/^[+-]?(nan|inf)/i.test(cell);

// The names of the classes and the class of each label, as micrograd.datasets.read_csv has them: in the order of
// numbers if all are numbers (1, 1.0 and 01 are one class), else in that of the alphabet. The names that the network
// has already stay.
function classesOf(labels, known) {
  const numbers = labels.map(numberOf);
  const place = label => {
    const found = known.indexOf(label);
    return found < 0 ? known.findIndex(name => numberOf(name) === numberOf(label)) : found;
  };
  const places = labels.map(place);
  if (!places.includes(-1)) return {names: known, places};
  const keys = numbers.every(Number.isFinite) ? numbers : labels;
  const classes = [...new Set(keys)].sort(keys === numbers ? (a, b) => a - b : undefined);
  return {names: classes.map(String), places: keys.map(key => classes.indexOf(key))};
}

/** The names of the columns, and the rows: {line, cells}. @param {string} text */
export function tableOf(text) {
  const separator = RegExp(`[${/[;\t]/.test(text) ? ";\t" : ","}](?=(?:[^"]*"[^"]*")*[^"]*$)`); // not in quotes
  const bare = cell => cell.trim().replace(/^"\s*(.*?)\s*"$/, "$1");
  const lines = text.split(/\r?\n/).map((line, i) => ({line: i + 1, cells: line.split(separator).map(bare)}));
  const rows = lines.filter(({cells}) => cells.join("")),
    [first] = rows;
  const names = first?.cells.every(isName) && rows.length > 1 ? (rows.shift()?.cells ?? []) : [];
  return {rows, columns: (first?.cells ?? []).map((_, k) => names[k] ?? inputName(k)), isNamed: names.length > 0};
}

// {points, isRegression, names, inputs}, or {error}: what was expected, what came, and the fix.
//   target, used  the column to predict, and those of the inputs
//   most          how many points there may be
//   known         the names of the classes that the network has already
//   fixed         what a model that cannot change learns, {inputs, names, isRegression}; or null
/** @param {any} table @param {any} about @returns {any} */
export function pointsOf({rows, columns}, {target, used, most, known, fixed}) {
  if (!rows.length || rows.length > most) return {error: filled("{{csv.many}}", {n: rows.length, most})};
  if (!used.length) return {error: "{{csv.none}}"};
  const points = [];
  for (const {line, cells} of rows) {
    if (cells.length !== columns.length)
      return {error: filled("{{csv.columns}}", {line, n: cells.length, expected: columns.length})};
    const numbers = used.map(k => numberOf(cells[k])),
      wrong = used[numbers.findIndex(x => !Number.isFinite(x))];
    if (wrong !== undefined)
      return {error: filled("{{csv.number}}", {line, column: columns[wrong], got: cells[wrong]})};
    if (!cells[target]) return {error: filled("{{csv.empty}}", {line, column: columns[target]})};
    points.push({numbers, label: 0});
  }
  const inputs = used.map((k, i) => (columns[k] === inputName(k) ? inputName(i) : columns[k]));
  const labels = rows.map(({cells}) => cells[target]),
    targets = labels.map(numberOf);
  const isClass = targets.every(Number.isInteger) && new Set(targets).size <= MOST_CLASSES && used.length > 1;
  const isRegression = targets.every(Number.isFinite) && !isClass;
  const {names, places} = isRegression ? {names: known, places: labels.map(() => 0)} : classesOf(labels, known);
  if (names.length < 2) return {error: filled("{{csv.class}}", {got: names.join(", ")})};
  if (names.length > MOST_CLASSES && names !== known)
    return {error: filled("{{csv.classes}}", {most: MOST_CLASSES, n: names.length})};
  const shape = (inputs, isRegression, names) => [inputs.length, isRegression || names.length].join();
  if (fixed && shape(fixed.inputs, fixed.isRegression, fixed.names) !== shape(used, isRegression, names))
    return {error: filled("{{csv.fixed}}", {n: fixed.inputs.length, got: used.length, classes: names.length})};
  const made = ({numbers}, i) =>
    isRegression ? {numbers: [...numbers, targets[i]], label: 0} : {numbers, label: places[i]};
  return {points: points.map(made), isRegression, names, inputs};
}
