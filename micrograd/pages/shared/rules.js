// The rules that pieces.py recorded, turned into functions.
//
// A formula is a number, a name (x0, x1, ...: data of the operands; y: data of the node; g: its
// gradient) or a list [operation, formula, ...]. Derivative rules come from Python: the contributions of a
// closure arrive as such formulas.

const IN_MATH = ["abs", "exp", "log", "sqrt", "sin", "cos", "tanh", "tan", "sinh", "cosh", "expm1", "log1p"];
const FUNCTIONS = {
  ...Object.fromEntries(IN_MATH.map(name => [name, Math[name]])),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  arctan2: Math.atan2,
  logaddexp: (x, y) => (x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))),
  erf,
  sigmoid: x => 1 / (1 + Math.exp(-x)),
  relu: x => (x < 0 ? 0 : x), // NaN stays NaN
  maximum: (x, y) => (x > y || Number.isNaN(x) ? x : y), // NaN if x or y is NaN
  minimum: (x, y) => (x < y || Number.isNaN(x) ? x : y),
  where: (condition, a, b) => (condition ? a : b),
};
// The error function, which JavaScript does not have, to about 16 digits: a series near 0, farther out a
// continued fraction. Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.6 and 7.1.14.
function erf(x) {
  const size = Math.abs(x);
  if (size < 3) {
    let term = (2 / Math.sqrt(Math.PI)) * x * Math.exp(-x * x),
      sum = term;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return sum;
  }
  let rest = 0;
  for (let n = 60; n > 0; n--) rest = n / 2 / (size + rest);
  return Math.sign(x) * (1 - Math.exp(-x * x) / (Math.sqrt(Math.PI) * (size + rest)));
}
const INFIX = new Set(["+", "-", "*", "/", "**", "<", "<=", ">", ">="]);

// The formula as a JavaScript expression. `named` gives the expression for a name. The text consists
// of numbers, operations from the two tables above, and what `named` returns: never a label.
export function expression(formula, named) {
  if (typeof formula === "number") return `(${formula})`;
  if (["NaN", "Infinity", "-Infinity"].includes(formula)) return `(${formula})`;
  if (typeof formula === "string") return named(formula);
  const [op, ...operands] = formula,
    texts = operands.map(operand => expression(operand, named));
  if (op === "neg") return `(-${texts[0]})`;
  if (INFIX.has(op)) return `(${texts[0]} ${op} ${texts[1]})`;
  if (op === "where") return `(${texts[0]} ? ${texts[1]} : ${texts[2]})`;
  if (op === "is") return `(${texts[0]} === ${texts[1]})`;
  if (op === "take") return `[${texts.slice(1).join(", ")}][${texts[0]}]`;
  if (op in FUNCTIONS) return `FUNCTIONS.${op}(${texts.join(", ")})`;
  throw new Error(`no operation ${op}`);
}

// The value of a JavaScript expression. The policy of the page forbids eval, so an inline script
// element does it.
export function built(text) {
  const script = document.createElement("script");
  script.textContent = `"use strict"; window.justBuilt = ${text};`;
  document.head.append(script);
  script.remove();
  return window.justBuilt;
}

// A formula as the text of a function, for an instruction whose operands x0, x1, ... are in the memory m at the places
// t[i], t[i + 1], ...; y and g as above.
const inMemory = name => (/^x\d+$/.test(name) ? `m[t[i + ${name.slice(1)}]]` : name);
export const functionText = formula => `(m, t, i, y, g) => ${expression(formula, inMemory)}`;
