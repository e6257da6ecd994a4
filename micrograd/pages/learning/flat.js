// A whole model and its losses as flat functions: a point takes microseconds, forward and backward, where a walk over
// the graph takes hundreds. Their text has only numbers, operations from the tables of rules.js and names that are
// made here: never a label.

import {built, expression} from "../shared/rules.js";

// The names of what a function is given: the numbers of a point, and the parameters.
function given({inputs, parameters}) {
  const named = [];
  for (const [k, node] of inputs.entries()) named[node] = "xy"[k];
  for (const [k, node] of parameters.entries()) named[node] = `p[${k}]`;
  return named;
}

// The lines that compute the wanted nodes, and those they need. named[i] becomes the name of node i, or its number.
function forwardLines({nodes, rules, leaves}, wanted, named) {
  const needed = new Set(wanted),
    lines = [];
  for (let i = nodes.length - 1; i >= 0; i--)
    if (needed.has(i)) for (const operand of nodes[i].slice(1)) needed.add(operand);
  nodes.forEach(([rule, ...operands], i) => {
    if (named[i] !== undefined || !needed.has(i)) return;
    named[i] = rule < 0 ? expression(leaves[i]) : `v${i}`;
    if (rule < 0) return;
    const formula = expression(rules[rule].forward, x => named[operands[+x.slice(1)]]);
    lines.push(`const v${i} = ${formula};`);
  });
  return lines;
}

// The lines that carry the gradient u of the root back to the parameters, and add theirs to G.
function backwardLines({nodes, rules}, root, parameters, named) {
  const place = new Map(parameters.map((node, k) => [node, k])),
    alive = new Set(parameters),
    sums = nodes.map(() => []),
    lines = [];
  for (const [i, [rule, ...operands]] of nodes.entries())
    if (rule >= 0 && operands.some((k, n) => alive.has(k) && rules[rule].shares[n] !== 0)) alive.add(i);
  sums[root].push("u");
  for (let i = root; i >= 0; i--) {
    if (!alive.has(i) || !sums[i].length) continue;
    const [rule, ...operands] = nodes[i],
      sum = sums[i].join(" + ");
    lines.push(place.has(i) ? `G[${place.get(i)}] += ${sum};` : `const g${i} = ${sum};`);
    const name = x => (x === "g" ? `g${i}` : x === "y" ? named[i] : named[operands[+x.slice(1)]]);
    operands.forEach((operand, k) => {
      const share = rules[rule].shares[k];
      if (alive.has(operand) && share !== 0) sums[operand].push(expression(share, name));
    });
  }
  return lines;
}

// Functions of a model, and of the same model with a loss behind it for each label:
//   learn[label](p, G, x, y, u)   the loss of a point; adds its gradients, times u, to G
//   measure[label](p, x, y, s)    the loss of a point; writes the scores to s
//   look(p, x, y, out)            writes the outputs of all neurons to `out`, layer by layer; of a model without
//                                 layers, its scores
export function flattened(model, withLosses) {
  const written = (nodes, named, list) => nodes.map((node, k) => `${list}[${k}] = ${named[node]};`);
  const learn = withLosses.map(whole => {
    const {graph, loss, parameters} = whole,
      named = given(whole);
    const lines = [...forwardLines(graph, [loss], named), ...backwardLines(graph, loss, parameters, named)];
    return `(p, G, x, y, u) => { ${lines.join("\n")} return ${named[loss]}; }`;
  });
  const measure = withLosses.map(whole => {
    const {graph, loss, outputs} = whole,
      named = given(whole);
    const lines = [...forwardLines(graph, [loss, ...outputs], named), ...written(outputs, named, "s")];
    return `(p, x, y, s) => { ${lines.join("\n")} return ${named[loss]}; }`;
  });
  const seen = model.layers.length ? model.layers.flat().map(neuron => neuron.output) : model.outputs;
  const inside = given(model);
  const look = [...forwardLines(model.graph, seen, inside), ...written(seen, inside, "out")].join("\n");
  return built(`{learn: [${learn}], measure: [${measure}], look: (p, x, y, out) => { ${look} }}`);
}
