// Points from pasted CSV text. Pure.

import {filled} from "../shared/texts.js";

// A decimal comma is read, too: "0,5; 1,2".
const numberOf = cell => (cell === "" ? NaN : Number(cell.replace(",", ".")));

// {points, isCurve}, or {error}: what was expected, what came, and the fix. Three columns are x1, x2 and the class,
// two are x and a number to predict.
//   names  of the classes;  most: how many points there may be;  widths: how many columns the model can learn from
/** @param {string} text @param {string[]} names @param {number} most @param {number[]} widths @returns {any} */
export function pointsOf(text, names, most, widths) {
  const separator = /[;\t]/.test(text) ? /[;\t]/ : ",";
  const rows = text
    .split(/\r?\n/)
    .map((line, i) => ({line: i + 1, cells: line.split(separator).map(cell => cell.trim().replace(/^"(.*)"$/, "$1"))}))
    .filter(({cells}) => cells.join(""));
  const isName = cell => cell !== "" && Number.isNaN(numberOf(cell));
  if (rows.length && rows[0].cells.length > 1 && rows[0].cells.slice(0, 2).every(isName)) rows.shift(); // names of columns
  if (!rows.length || rows.length > most) return {error: filled("{{csv.many}}", {n: rows.length, most})};
  const points = [],
    width = rows[0].cells.length,
    isCurve = width === 2;
  for (const {line, cells} of rows) {
    const numbers = cells.slice(0, 2).map(numberOf);
    const found = names.indexOf(cells[2]),
      label = isCurve
        ? 0
        : found < 0
          ? names.findIndex(name => name !== "" && Number(name) === Number(cells[2] || NaN))
          : found;
    if (cells.length !== width || !widths.includes(width))
      return {error: filled("{{csv.columns}}", {line, n: cells.length})};
    if (!numbers.every(Number.isFinite))
      return {error: filled("{{csv.number}}", {line, got: cells.slice(0, 2).join(", ")})};
    if (label < 0) return {error: filled("{{csv.class}}", {line, got: cells[2], names: names.join(", ")})};
    points.push({x: numbers[0], y: numbers[1], label});
  }
  return {points, isCurve};
}
