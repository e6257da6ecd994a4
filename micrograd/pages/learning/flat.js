// A whole model and its losses as three flat functions: a point takes microseconds, forward and
// backward, where a walk over the graph takes hundreds. Their text has only numbers, operations from
// the tables of program.js and names that are made here: never a label.

import {built, expression} from "../shared/program.js";

// The lines that compute the given nodes, and those they need. named[i] is the name of node i; leaves
// without a name become numbers.
function forwardLines(graph, wanted, named, prefix) {
  const needed = new Set(wanted),
    lines = [];
  for (let i = graph.nodes.length - 1; i >= 0; i--)
    if (needed.has(i)) for (const operand of graph.nodes[i].slice(1)) needed.add(operand);
  graph.nodes.forEach(([rule, ...operands], i) => {
    if (named[i] !== undefined || !needed.has(i)) return;
    if (rule < 0) {
      named[i] = expression(graph.leaves[i]);
      return;
    }
    named[i] = `${prefix}${i}`;
    const formula = expression(graph.rules[rule].forward, x => named[operands[+x.slice(1)]]);
    lines.push(`const ${named[i]} = ${formula};`);
  });
  return lines;
}

// The lines that carry gradients from the roots to the receivers, from the last node to the first.
//   roots      pairs of a node and the text of its gradient
//   receivers  a Map from a node to what is written before the text of its gradient, `G[3] +=`
function backwardLines(graph, roots, receivers, named, prefix) {
  const alive = new Set(receivers.keys()),
    sums = graph.nodes.map(() => []),
    lines = [];
  for (const [i, [rule, ...operands]] of graph.nodes.entries())
    if (rule >= 0 && operands.some((k, n) => alive.has(k) && graph.rules[rule].shares[n] !== 0)) alive.add(i);
  for (const [node, text] of roots) sums[node].push(text);
  for (let i = graph.nodes.length - 1; i >= 0; i--) {
    if (!alive.has(i) || !sums[i].length) continue;
    const sum = sums[i].join(" + "),
      [rule, ...operands] = graph.nodes[i];
    if (receivers.has(i)) lines.push(`${receivers.get(i)} ${sum};`);
    if (rule < 0) continue;
    lines.push(`const ${prefix}${i} = ${sum};`);
    const name = x => (x === "g" ? `${prefix}${i}` : x === "y" ? named[i] : named[operands[+x.slice(1)]]);
    operands.forEach((operand, k) => {
      const share = graph.rules[rule].shares[k];
      if (alive.has(operand) && share !== 0) sums[operand].push(expression(share, name));
    });
  }
  return lines;
}

// Functions of a model and a loss:
//   learn(p, G, x, y, label, u)  the loss of a point; adds its gradients, times u, to G
//   measure(p, x, y, label, s)   the loss of a point; writes the scores to s
//   look(p, x, y, out)           writes the outputs of all neurons to `out`, layer by layer; of a model
//                               without layers, its scores
export function flattened(model, losses) {
  const {graph, inputs, parameters, outputs} = model;
  const names = () => {
    const named = [];
    for (const [k, node] of inputs.entries()) named[node] = "xy"[k];
    for (const [k, node] of parameters.entries()) named[node] = `p[${k}]`;
    return named;
  };
  const named = names(),
    scores = forwardLines(graph, outputs, named, "v");
  const slopes = outputs.map((_, k) => `t${k}`);
  const cases = backward =>
    losses.map((piece, label) => {
      const here = [],
        root = piece.outputs[0];
      for (const [k, node] of piece.inputs.entries()) here[node] = named[outputs[k]] ?? "y"; // y: a number to predict
      const lines = forwardLines(piece, [root], here, "l");
      lines.push(`loss = ${here[root]};`);
      const receivers = new Map(slopes.map((slope, k) => [piece.inputs[k], `${slope} =`]));
      if (backward) lines.push(...backwardLines(piece, [[root, "u"]], receivers, here, "h"));
      return `case ${label}: { ${lines.join("\n")} break; }`;
    });
  const into = new Map(parameters.map((node, k) => [node, `G[${k}] +=`]));
  const learn = [
    ...scores,
    `let loss = NaN, ${slopes.map(t => `${t} = 0`).join(", ")};`,
    `switch (label) { ${cases(true).join("\n")} }`,
    ...backwardLines(
      graph,
      outputs.map((node, k) => [node, slopes[k]]),
      into,
      named,
      "g",
    ),
    "return loss;",
  ];
  const measure = [
    ...scores,
    ...outputs.map((node, k) => `s[${k}] = ${named[node]};`),
    "let loss = NaN;",
    `switch (label) { ${cases(false).join("\n")} }`,
    "return loss;",
  ];
  const seen = model.layers.length ? model.layers.flat().map(neuron => neuron.output) : outputs;
  const inside = names();
  const look = [...forwardLines(graph, seen, inside, "v"), ...seen.map((node, k) => `out[${k}] = ${inside[node]};`)];
  return built(`{
    learn: (p, G, x, y, label, u) => { ${learn.join("\n")} },
    measure: (p, x, y, label, s) => { ${measure.join("\n")} },
    look: (p, x, y, out) => { ${look.join("\n")} },
  }`);
}
