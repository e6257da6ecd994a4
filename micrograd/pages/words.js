// What is said at each step: sentences and equations. Pure functions.
//
// A model is {graph, kinds, steps, view, boxes, first, name(i)}: name(i) is the short name of a node, and
// `first` the leaf that serves as an example, or -1.

const MEANING = {
  input: "A leaf: a number that comes from outside, such as an example from the data.",
  parameter: "A leaf that training changes, such as a weight.",
  result: "What is computed last: the number whose moves we ask about.",
  operation: "A number computed from other numbers, its operands.",
  constant: "A fixed number in the formula. It has no gradient.",
  data: "The number itself, computed in the forward pass.",
  gradient:
    "How much the result moves when this number moves a little: (move of the result) / (small move of " +
      "this number). In code: grad.",
  "local derivative": "How much one operation's output moves when one of its own operands moves a little.",
  "upstream gradient":
    "The gradient that the operation's output has received already: how much the result moves when that " +
      "output moves.",
  contribution: "Local derivative × upstream gradient: what one use adds to the gradient of an operand.",
  "learning rate": "How far one step goes: each parameter moves by learning rate × gradient, downwards.",
};
const ORDINAL = ["1st use", "2nd use", "3rd use"];

// A node's name or number as pieces of formula.js.
const callName = model => (j, rank) =>
  model.kinds[j] === "c" ? callNumber(model)(j, rank) : nameInMath(model.name(j));
const callNumber = model => (j, rank) => [
  rank > 0 ? inFormula(model.steps.d[j]) : number(model.steps.d[j]),
];

// "a, b and c"
const listed = texts =>
  texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts[texts.length - 1]}`;
const firstFew = (texts, most = 4) =>
  texts.length <= most
    ? listed(texts)
    : `${texts.slice(0, most - 1).join(", ")} and ${texts.length - most + 1} more`;

// The number of nodes inside an item that are computed, and its name.
const inside = (model, item) => item.nodes.filter(i => !model.graph.isLeaf(i)).length;
const itemName = (model, item) =>
  item.box === undefined ? model.name(item.node) : model.boxes[item.box].label;

// Everything about step `at`: {phase, sentence, equation, chains, state}. The equation is two lists of
// pieces, with names and with numbers, and the result; a chain is the chain rule for one operand.
function told(model, at) {
  const {graph, steps, view} = model,
    step = steps.list[at],
    state = steps.state(at);
  const result = model.name(graph.root),
    item = view.items.get(step.item);
  const found = {phase: step.phase, step, state, sentence: "", equation: null, chains: []};
  if (step.phase === "start") {
    found.sentence = graph.isLeaf(graph.root)
      ? `${result} is a leaf: nothing has to be computed.`
      : "The leaves have their data. Nothing else has been computed yet. Press Step forward (→).";
  } else if (step.phase === "forward" && item.box === undefined) {
    const i = item.node,
      whole = {stop: () => true};
    found.sentence = `${model.name(i)} is computed from ` +
      `${firstFew([...new Set(graph.operands(i).map(o => named(model, o)))])}.`;
    if (!graph.isKnown(i))
      found.sentence += " It is a user-defined operation: the page keeps its recorded result.";
    found.equation = {
      node: i,
      names: formulaOf(graph, i, {...whole, called: callName(model)}),
      numbers: formulaOf(graph, i, {...whole, called: callNumber(model)}),
      result: number(steps.d[i]),
    };
  } else if (step.phase === "forward") {
    const outputs = item.outputs.length === 1 ? "its output" : `${item.outputs.length} numbers`;
    const operations = `${inside(model, item).toLocaleString("en")} operations inside`;
    found.sentence = `${itemName(model, item)} computes ${outputs} (${operations}; unfold it to see them).`;
  } else if (step.phase === "seed") {
    found.sentence = step.pass
      ? "A second backward pass, and zero_grad() was forgotten: the leaves keep their gradients from the " +
        "first."
      : `Now backwards. How much does ${result} move when ${result} itself moves a little? Just as much: ` +
        `its gradient is 1.`;
  } else if (step.phase === "backward") {
    found.chains = chains(model, item, state);
    const receivers = found.chains.map(({node}) => model.name(node));
    found.sentence = receivers.length
      ? `${itemName(model, item)} passes its gradient on to ${firstFew([...new Set(receivers)])}.`
      : `All operands of ${itemName(model, item)} are constants, so it passes nothing on.`;
  } else {
    const leaf = model.first ?? -1;
    const g = leaf < 0 ? 0 : state.g[leaf];
    found.sentence =
      "All gradients are known. " +
      (leaf < 0
        ? ""
        : model.wrong?.length
          ? "But this mistake has made some of them wrong."
          : `The gradient of ${model.name(leaf)} is ${number(g)}: when ${model.name(leaf)} grows by ` +
            `0.01, ${result} ` +
            (Math.abs(g) < 1e-12
              ? "hardly moves."
              : `${g > 0 ? "grows" : "shrinks"} by about ${number(Math.abs(g) / 100)}.`));
  }
  return found;
}

const named = (model, i) => (model.kinds[i] === "c" ? number(model.steps.d[i]) : model.name(i));

// The chain rule for each operand that receives a gradient from this item.
function chains(model, item, {changes, d}) {
  const {graph} = model,
    found = [];
  const own = changes.filter(({node}) => model.kinds[node] !== "c");
  if (item.box === undefined) {
    const uses = own.map(({node}) => node);
    return own.map((change, k) => {
      const twice = uses.filter(node => node === change.node).length > 1;
      return {
        ...change,
        use: twice ? (ORDINAL[uses.slice(0, k).filter(node => node === change.node).length] ?? "") : "",
      };
    });
  }
  // of a folded box: what leaves it, as one sum for each node
  const members = new Set(item.nodes),
    output = item.outputs.length === 1 ? item.outputs[0] : -1,
    sums = new Map();
  for (const change of own) {
    if (members.has(change.node)) continue;
    const before = sums.get(change.node);
    if (before) {
      before.share += change.share;
      before.after = change.after;
    } else sums.set(change.node, {...change, giver: output, edge: -1});
  }
  found.push(...sums.values());
  if (output < 0) return found;
  const upstream = changes.find(({giver}) => giver === output)?.upstream ?? NaN;
  const local = throughBox(
    graph,
    d,
    item.nodes.filter(i => !graph.isLeaf(i)),
    output,
  );
  for (const chain of found) {
    Object.assign(chain, {local: local[chain.node], upstream});
    chain.explained =
      Math.abs(chain.local * upstream - chain.share) <= 1e-9 * Math.max(1, Math.abs(chain.share));
  }
  return found;
}

// How the operand's gradient grows.
function sumOf(chain, mistake) {
  const {before, share, after, first} = chain;
  if (mistake === "assign")
    return first || before === 0
      ? `gradient: ${number(after)}`
      : `gradient: ${number(after)}, and ${number(before)} is lost`;
  return first && before === 0
    ? `gradient: ${number(after)}`
    : `gradient: ${number(before)} + ${inFormula(share)} = ${number(after)}`;
}

// The step in one line of text, for the transcript and for screen readers.
function asText(model, at, {phase, sentence, equation, chains} = told(model, at)) {
  const parts = [`${{forward: "Forward: ", backward: "Backward: "}[phase] ?? ""}${sentence}`];
  if (equation) parts.push(equationText(model, equation));
  for (const chain of chains.slice(0, 8)) {
    const to = `${model.name(chain.node)}${chain.use ? ` (${chain.use})` : ""}`;
    parts.push(
      (chain.giver >= 0 && chain.explained !== false
        ? `${to}: local derivative ${number(chain.local)} × upstream gradient ${number(chain.upstream)} ` +
          `= ${number(chain.share)}; `
        : `${to} receives ${number(chain.share)}; `) + `${sumOf(chain, model.steps.mistake)}.`,
    );
  }
  return parts.join(" ");
}

function equationText(model, {node, names, numbers, result}) {
  const parts = [model.name(node), plain(names), plain(numbers), result];
  return `${parts.filter((part, k) => part !== parts[k - 1]).join(" = ")}.`;
}
