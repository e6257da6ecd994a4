// A model and its losses as flat functions: a point takes microseconds, forward and backward, where a walk over the
// graph takes hundreds. Their text has only numbers, operations from the tables of rules.js and names that are made
// here: never a label.

import {built, expression} from "../shared/rules.js";

// The lines that compute the wanted nodes of a piece, and those they need. named[i] becomes the name of node i, or its
// number; `memory` is an array for the results, which are constants without it.
function forwardLines({nodes, rules, leaves}, wanted, named, memory = "") {
  const needed = new Set(wanted),
    lines = [];
  for (let i = nodes.length - 1; i >= 0; i--)
    if (needed.has(i)) for (const operand of nodes[i].slice(1)) needed.add(operand);
  nodes.forEach(([rule, ...operands], i) => {
    if (named[i] !== undefined || !needed.has(i)) return;
    named[i] = rule < 0 ? expression(leaves[i]) : memory ? `${memory}[${i}]` : `v${i}`;
    if (rule < 0) return;
    const formula = expression(rules[rule].forward, x => named[operands[+x.slice(1)]]);
    lines.push(`${memory ? "" : "const "}${named[i]} = ${formula};`);
  });
  return lines;
}

// The lines that carry gradients back. given: the gradients of outputs, [node, text]; taken: where those of inputs and
// parameters go, [node, text], such as "G[3] +=".
function backwardLines({nodes, rules}, given, taken, named) {
  const place = new Map(taken),
    alive = new Set(place.keys()),
    sums = nodes.map(() => []),
    lines = [];
  for (const [i, [rule, ...operands]] of nodes.entries())
    if (rule >= 0 && operands.some((k, n) => alive.has(k) && rules[rule].shares[n] !== 0)) alive.add(i);
  for (const [node, text] of given) sums[node].push(text);
  for (let i = nodes.length - 1; i >= 0; i--) {
    const [rule, ...operands] = nodes[i],
      sum = sums[i].join(" + ");
    if (place.has(i)) lines.push(`${place.get(i)} ${sum || 0};`);
    if (!alive.has(i) || !sum || rule < 0) continue;
    lines.push(`const d${i} = ${sum};`);
    const name = x => (x === "g" ? `d${i}` : x === "y" ? named[i] : named[operands[+x.slice(1)]]);
    operands.forEach((operand, k) => {
      const share = rules[rule].shares[k];
      if (alive.has(operand) && share !== 0) sums[operand].push(expression(share, name));
    });
  }
  return lines;
}

const numbered = (nodes, name) => nodes.map((node, k) => [node, `${name}[${k}]`]);

// A perceptron, layer by layer: for neuron i, whose parameters begin at p[f], `total` is the sum of its bias and of
// weight × input, `out` its output, `up` the gradient of its output. The gradient of a sum must not need its total.
function layersOf({sizes, activations}, {weighted, ...bends}) {
  const arrays = [],
    forward = [],
    backward = [];
  let begin = 0;
  sizes.slice(1).forEach((count, k) => {
    const width = sizes[k],
      [total, out, up] = [`total${k}`, `out${k}`, `up${k}`],
      [before, below] = k ? [`out${k - 1}`, `up${k - 1}`] : ["x", ""];
    for (const name of [total, out, up]) arrays.push(`${name} = new Float64Array(${count})`);
    const bend = bends[activations[k]],
      [entry] = bend.inputs,
      [exit] = bend.outputs,
      bent = {[entry]: `${total}[i]`},
      lines = forwardLines(bend, [exit], bent);
    const [sum, w, x] = weighted.inputs,
      [after] = weighted.outputs,
      step = {[sum]: "t", [w]: "p[f + j]", [x]: `${before}[j]`},
      added = forwardLines(weighted, [after], step);
    const from = `f = ${begin} + i * ${width + 1}`;
    forward.push(
      `for (let i = 0; i < ${count}; i++) { const ${from}; let t = p[f + ${width}];`,
      `for (let j = 0; j < ${width}; j++) { ${added.join(" ")} t = ${step[after]}; }`,
      `${total}[i] = t; ${lines.join(" ")} ${out}[i] = ${bent[exit]}; }`,
    );
    // Backwards the output is known; what lies before it is computed again.
    const known = {[entry]: `${total}[i]`, [exit]: `${out}[i]`};
    const again = forwardLines(bend, [...bend.nodes.keys()], known);
    const own = [[w, "G[f + j] +="], ...(k ? [[x, `${below}[j] +=`]] : []), [sum, "d ="]];
    backward.unshift(
      ...(k ? [`${below}.fill(0);`] : []),
      `for (let i = ${count - 1}; i >= 0; i--) { const ${from}; let d; { ${again.join(" ")}`,
      `${backwardLines(bend, [[exit, `${up}[i]`]], [[entry, "d ="]], known).join(" ")} }`,
      `for (let j = ${width - 1}; j >= 0; j--) { ${backwardLines(weighted, [[after, "d"]], own, step).join(" ")} }`,
      `G[f + ${width}] += d; }`,
    );
    begin += count * (width + 1);
  });
  const last = sizes.length - 2;
  const seen = sizes.slice(1).map((count, k) => `for (let i = 0; i < ${count}; i++) s[n++] = out${k}[i];`);
  return {arrays, forward, backward, out: `out${last}`, up: `up${last}`, seen: `let n = 0; ${seen.join(" ")}`};
}

// A model that was recorded as a whole.
function recordedOf({graph, inputs, parameters, outputs}) {
  const named = Object.fromEntries([...numbered(inputs, "x"), ...numbered(parameters, "p")]);
  const lines = forwardLines(graph, outputs, named, "memory");
  const given = numbered(outputs, "up"),
    taken = parameters.map((node, k) => [node, `G[${k}] +=`]);
  return {
    arrays: [`memory = new Float64Array(${graph.nodes.length})`, ...["out", "up"].map(name => `${name} = []`)],
    forward: [...lines, ...outputs.map((node, k) => `out[${k}] = ${named[node]};`)],
    backward: backwardLines(graph, given, taken, named),
    out: "out",
    up: "up",
    seen: outputs.map((_, k) => `s[${k}] = out[${k}];`).join(" "),
  };
}

// Functions of a model and of its losses, one for each label or one for all. A point is {numbers, label}: `numbers`
// are its inputs and in regression the number to predict.
//   learn(p, G, point, u)   the loss of a point; adds its gradients, times u, to G
//   measure(p, point, s)    the loss of a point; writes the scores to s
//   look(p, x, s)           writes the outputs of all neurons to s, layer by layer; of a model without layers, its
//                           scores
export function flattened(model, pieces, losses, isRegression) {
  const {arrays, forward, backward, out, up, seen} = model.sizes ? layersOf(model, pieces) : recordedOf(model);
  const count = model.outputs.length;
  const lossOf = (loss, before, after) => {
    const target = isRegression ? `x[${model.inputs.length}]` : "label";
    const named = Object.fromEntries(numbered(loss.inputs.slice(0, count), out));
    if (loss.inputs.length > count) named[loss.inputs[count]] = target;
    const lines = forwardLines(loss, loss.outputs, named);
    const end = after(loss, named).join(" ");
    return `(p, ${before}) => { forward(p, x); ${lines.join(" ")} ${end} return ${named[loss.outputs[0]]}; }`;
  };
  const back = (loss, named) => {
    const taken = loss.inputs.slice(0, count).map((node, k) => [node, `${up}[${k}] =`]);
    return [...backwardLines(loss, [[loss.outputs[0], "u"]], taken, named), "backward(p, G, x);"];
  };
  const scores = () => Array.from({length: count}, (_, k) => `s[${k}] = ${out}[${k}];`);
  const learn = losses.map(loss => lossOf(loss, "G, {numbers: x, label}, u", back));
  const measure = losses.map(loss => lossOf(loss, "{numbers: x, label}, s", scores));
  return built(`(() => { const ${arrays.join(", ")}, learn = [${learn}], measure = [${measure}];
    const at = ({label}) => Math.min(label, ${losses.length - 1});
    function forward(p, x) { ${forward.join("\n")} }
    function backward(p, G, x) { ${backward.join("\n")} }
    return {
      learn: (p, G, point, u) => learn[at(point)](p, G, point, u),
      measure: (p, point, s) => measure[at(point)](p, point, s),
      look: (p, x, s) => { forward(p, x); ${seen} },
    }; })()`);
}
