// Points from a formula that was typed: y > sin(3x) says which class a place has, y = x² − 1 what is to be predicted.

import {built, expression} from "../shared/rules.js";

const LETTERS = {x: "a", x1: "a", y: "b", x2: "b", pi: Math.PI};
const SIGNS = ["+ -", "* /", "^ **"].map(signs => signs.split(" "));
const CALLED = ["sin", "cos", "tanh", "exp", "log", "sqrt", "abs"];
const TOKENS = /\d+\.?\d*|\.\d+|[a-z]+[12]?|\*\*|[-+*/^()<>=]/g;

// The formula as in rules.js, from these tokens; undefined if they are none. A product needs no sign: 3x.
function formulaOfTokens(tokens) {
  let at = 0;
  const take = (...some) => (some.includes(tokens[at]) ? tokens[at++] : undefined);
  function atom() {
    const token = tokens[at++];
    if (token === "-") return ["neg", part(2)];
    if (/^[\d.]/.test(token)) return Number(token);
    if (Object.hasOwn(LETTERS, token)) return LETTERS[token];
    const name = CALLED.includes(token) && token;
    if (token !== "(" && !(name && take("("))) throw new SyntaxError(token);
    const inside = part(0);
    if (!take(")")) throw new SyntaxError(token);
    return name ? [name, inside] : inside;
  }
  // What the signs of this level join, which those of higher levels join first. Powers begin at the right.
  function part(level) {
    if (level === SIGNS.length) return atom();
    for (let found = part(level + 1); ; ) {
      const sign = take(...SIGNS[level]),
        isProduct = sign || (level === 1 && at < tokens.length && !/^[-+)<>=]$/.test(tokens[at]));
      if (!isProduct) return found;
      found = [{"^": "**"}[sign] ?? sign ?? "*", found, part(level === 2 ? 2 : level + 1)];
    }
  }
  try {
    const left = part(0),
      sign = take("<", ">", "="),
      right = sign && part(0);
    if (at < tokens.length || !sign || (sign === "=" && left !== "b")) return undefined;
    return sign === "=" ? {isRegression: true, formula: right} : {isRegression: false, formula: [sign, left, right]};
  } catch {
    return undefined;
  }
}

/** {isRegression, at}, where at(x, y) is the number or the class; undefined for any other text. @param {string} text */
export function formulaFrom(text) {
  const plain = text
    .toLowerCase()
    .replace(/[₁₂]/g, digit => ({"₁": "1", "₂": "2"})[digit] ?? "")
    .replace(/−/g, "-")
    .replace(/([²³])/g, (_, power) => `^${power === "²" ? 2 : 3}`)
    .replace(/^\s*(above|below)\b/, (_, side) => (side === "above" ? "y >" : "y <"));
  const tokens = plain.match(TOKENS) ?? [];
  const isWhole = tokens.join("") === plain.replace(/\s/g, "");
  const found = isWhole ? formulaOfTokens(tokens) : undefined;
  return found && {isRegression: found.isRegression, at: built(`(a, b) => ${expression(found.formula, name => name)}`)};
}
