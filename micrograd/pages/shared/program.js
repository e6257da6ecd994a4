// Recorded programs that a page can run, node after node.

import {built, functionText} from "./rules.js";

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
  forward(leaves) {
    const d = new Float64Array(this.nodes.length);
    for (let i = 0; i < this.nodes.length; i++) d[i] = this.isLeaf(i) ? leaves.get(i) : this.data(i, d);
    return d;
  }

  // The gradients of all nodes, from the result backwards; or of another output, only through some nodes.
  backward(d, output = this.root, through = [...this.nodes.keys()]) {
    const g = new Float64Array(this.nodes.length);
    g[output] = 1;
    for (const i of through.toReversed()) this.operands(i).forEach((o, k) => (g[o] += this.share(i, k, d, g)));
    return g;
  }
}
