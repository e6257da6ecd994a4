// Recorded programs that a page can run: the rules that pieces.py recorded, turned into functions.
//
// A formula is a number, a name (x0, x1, ...: data of the operands; y: data of the node; g: its
// gradient) or a list [operation, formula, ...]. There is no derivative rule here: what a closure
// contributes arrives as a formula.

const FUNCTIONS = {
  abs: Math.abs,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  sigmoid: x => 1 / (1 + Math.exp(-x)),
  relu: x => (x < 0 ? 0 : x), // NaN stays NaN
  maximum: (x, y) => (x > y || Number.isNaN(x) ? x : y), // NaN if x or y is NaN
  minimum: (x, y) => (x < y || Number.isNaN(x) ? x : y),
  where: (condition, a, b) => (condition ? a : b),
};
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

// A recorded graph. `nodes[i]` is [rule, operand, operand, ...], with rule -1 for a leaf; `d` and `g`
// are arrays with the data and the gradient of each node, which the caller keeps.
export class Graph {
  constructor({rules, nodes, leaves}) {
    this.rules = rules;
    this.nodes = nodes;
    this.root = nodes.length - 1;
    this.leaves = new Map(Object.entries(leaves).map(([i, x]) => [+i, Number(x)]));
    const texts = rules.map(({forward, shares}) => {
      const data = forward === null ? "null" : functionText(forward);
      return `{forward: ${data}, shares: [${shares.map(functionText)}]}`;
    });
    this.functions = built(`[${texts.join(",\n")}]`);
  }

  operands(i) {
    return this.nodes[i].slice(1);
  }

  isLeaf(i) {
    return this.nodes[i][0] < 0;
  }

  rule(i) {
    return this.rules[this.nodes[i][0]];
  }

  // Whether the page can compute the data of a result: not if its operation is user-defined.
  isKnown(i) {
    return this.isLeaf(i) || this.functions[this.nodes[i][0]].forward !== null;
  }

  // The data of a result from the data of its operands.
  data(i, d) {
    const forward = this.functions[this.nodes[i][0]].forward;
    return forward ? forward(d, this.nodes[i], 1) : this.leaves.get(i);
  }

  // What the closure of node i contributes to the gradient of its operand number k, for the gradient
  // of node i or another upstream gradient.
  share(i, k, d, g, upstream = g[i]) {
    return this.functions[this.nodes[i][0]].shares[k](d, this.nodes[i], 1, d[i], upstream);
  }

  // d (node i) / d (its operand number k): the contribution for an upstream gradient of 1.
  localDerivative(i, k, d) {
    return this.share(i, k, d, null, 1);
  }

  // The data of all nodes, from the numbers of the leaves (a Map).
  forward(leaves, d = new Float64Array(this.nodes.length)) {
    for (let i = 0; i < this.nodes.length; i++) d[i] = this.isLeaf(i) ? leaves.get(i) : this.data(i, d);
    return d;
  }

  // The gradients of all nodes, from the result backwards.
  backward(d, g = new Float64Array(this.nodes.length)) {
    g.fill(0);
    g[this.root] = 1;
    for (let i = this.root; i >= 0; i--) {
      const node = this.nodes[i];
      for (let k = 1; k < node.length; k++) g[node[k]] += this.share(i, k - 1, d, g);
    }
    return g;
  }
}
