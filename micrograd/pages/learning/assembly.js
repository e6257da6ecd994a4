// Pieces of graphs put together. pieces.py recorded each piece: `rules`, `nodes` and `leaves` as in
// program.js, and which of its nodes are `inputs` and `outputs`. Pure, apart from growing an Assembly.

const low = input => String(input + 1).replace(/\d/g, digit => "₀₁₂₃₄₅₆₇₈₉"[+digit]);
/** The name of an input, x₁ for the first, and that of its weight. @param {number} input */
export const inputName = input => `x${low(input)}`;
/** @param {number} input */
export const inputWeight = input => `w${low(input)}`;

// A growing graph.
class Assembly {
  constructor() {
    this.rules = [];
    this.nodes = [];
    this.leaves = {};
    this.places = new Map(); // from the text of a rule to its place
  }

  leaf(number = 0) {
    this.leaves[this.nodes.length] = number;
    return this.nodes.push([-1]) - 1;
  }

  // Adds a piece whose inputs are the given nodes; returns where each of its nodes is now.
  add(piece, inputs) {
    const rules = piece.rules.map(rule => this.rule(rule)),
      at = [];
    for (const [k, node] of piece.inputs.entries()) at[node] = inputs[k];
    const made = ([rule, ...operands]) => this.nodes.push([rules[rule], ...operands.map(k => at[k])]) - 1;
    piece.nodes.forEach((node, i) => (at[i] ??= node[0] < 0 ? this.leaf(Number(piece.leaves[i])) : made(node)));
    return at;
  }

  rule(rule) {
    const text = JSON.stringify(rule);
    if (!this.places.has(text)) this.places.set(text, this.rules.push(rule) - 1);
    return this.places.get(text);
  }
}

// The graph of a multi-layer perceptron for one example. Parameters are in Python's order: for each
// neuron its weights, then its bias.
//   sizes        numbers of inputs and of neurons in each layer
//   activations  a name for each layer
export function perceptron(sizes, activations, pieces) {
  const graph = new Assembly(),
    parameters = [],
    layers = [];
  const inputs = Array.from({length: sizes[0]}, () => graph.leaf());
  let values = inputs;
  sizes.slice(1).forEach((size, layer) => {
    const neurons = Array.from({length: size}, () => {
      const first = parameters.length,
        begin = graph.nodes.length;
      const weights = values.map(() => graph.leaf()),
        bias = graph.leaf();
      parameters.push(...weights, bias);
      const result = (piece, inputs) => graph.add(piece, inputs)[piece.outputs[0]];
      const total = weights.reduce((sum, w, k) => result(pieces.weighted, [sum, w, values[k]]), bias);
      const output = result(pieces[activations[layer]], [total]);
      return {first, inputs: values, weights, bias, output, begin, end: graph.nodes.length};
    });
    layers.push(neurons);
    values = neurons.map(neuron => neuron.output);
  });
  return {graph, inputs, parameters, layers, outputs: values, sizes, activations};
}

// A model that Python recorded as a whole: nothing in it can be added or removed.
export function whole(piece) {
  const graph = new Assembly(),
    inputs = piece.inputs.map(() => graph.leaf());
  const at = graph.add(piece, inputs);
  const [parameters, outputs] = [piece.parameters, piece.outputs].map(list => list.map(i => at[i]));
  return {graph, inputs, parameters, layers: [], outputs};
}

// The same graph with the loss behind its outputs; the loss is the last node. If the loss takes the number to predict,
// or the label, that is one more input.
export function withLoss(model, piece) {
  const graph = new Assembly();
  for (const rule of model.graph.rules) graph.rule(rule);
  graph.nodes = model.graph.nodes.slice();
  graph.leaves = {...model.graph.leaves};
  const targets = piece.inputs.slice(model.outputs.length).map(() => graph.leaf());
  const at = graph.add(piece, [...model.outputs, ...targets]);
  return {...model, graph, inputs: [...model.inputs, ...targets], loss: at[piece.outputs[0]]};
}
