// What is said at each step: sentences and equations. Pure functions.
//
// A model is {graph, kinds, steps, view, boxes, first, users, leaves, name(i), inMath(i)}: name(i) and
// inMath(i) are the short name of a node, as a text and as pieces of formula.js, and `first` is the leaf
// that serves as an example, or -1.

const MEANING = {
  leaf: "A number that is given, not computed: an input or a parameter.",
  input: "A number that comes from outside, such as data to learn from. Training does not change it.",
  parameter: "A number that training changes, such as a weight.",
  operation:
    "A number computed from other numbers, its operands. + adds, × multiplies, and tanh turns any number " +
    "into one between −1 and 1.",
  result:
    "The number computed last. We ask what moves it. In training it is the loss: how wrong the network is.",
  constant: "A fixed number in the formula. It has no gradient.",
  data: "The number itself, computed in the forward pass.",
  gradient:
    "How many times as far the result moves as this number does, for small moves. A minus sign: the " +
    "opposite way. 0: not at all. Written ∂o/∂w for the gradient of w if o is the result; in code, grad.",
  "· not known yet": "A dot instead of a number, and a dotted frame if it is not computed yet.",
  "this step": "The thick frame: the operation that runs now.",
  "local derivative":
    "How many times as far the output of one operation moves as one of its operands does. Written ∂n/∂b " +
    "if the operation computes n from b.",
  "upstream gradient": "The gradient of the operation's output, which has just been found.",
  contribution:
    "Local derivative × upstream gradient. The gradient of a number is the sum of the contributions of " +
    "all its uses.",
  "learning rate": "How far one step goes: learning rate × gradient. 0.1 is a tenth of the gradient.",
  "move Δ": "How far Nudge moves the leaf: a small number.",
};
const ORDINAL = ["1st use", "2nd use", "3rd use"];

// A node's name or number as pieces of formula.js.
const callName = model => (j, rank) =>
  model.kinds[j] === "c" ? callNumber(model)(j, rank) : model.inMath(j, rank);
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
      ? `${result} is given: nothing has to be computed.`
      : "Only inputs and parameters are known: a dot is a number not known yet. Press Step forward (→).";
  } else if (step.phase === "forward" && item.box === undefined) {
    const i = item.node;
    found.sentence = `${model.name(i)} is computed from ` +
      `${firstFew([...new Set(graph.operands(i).map(o => named(model, o)))])}.`;
    if (!graph.isKnown(i))
      found.sentence += " It is a user-defined operation: the page keeps its recorded result.";
    found.equation = {
      node: i,
      names: formulaOf(graph, i, {stop: j => !model.isFormula(j), called: callName(model)}),
      numbers: formulaOf(graph, i, {stop: () => true, called: callNumber(model)}),
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
      : `Now backwards, from the result. ${result} moves exactly as far as ${result} itself: its ` +
        "gradient is 1.";
  } else if (step.phase === "backward") {
    found.chains = chains(model, item, state);
    const receivers = [...new Set(found.chains.map(({node}) => model.name(node)))];
    const each = receivers.length > 1 ? " of each" : found.chains.length > 1 ? ", once for each use" : "";
    found.sentence = receivers.length
      ? `The gradient of ${itemName(model, item)} goes back to ${firstFew(receivers)}, multiplied by the ` +
        `local derivative${each}.`
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
          : `The gradient of ${model.name(leaf)} is ${number(g)}: if ${model.name(leaf)} grows by 0.01, ` +
            (Math.abs(g) < 1e-12
              ? `${result} hardly moves.`
              : `${result} ${g > 0 ? "grows" : "shrinks"} by about ${number(Math.abs(g))} × 0.01 = ` +
                `${number(Math.abs(g) / 100)}.`));
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
function sumOf(model, chain, state) {
  const {node, before, share, after, first} = chain,
    {mistake} = model.steps;
  const more = waiting(model, node, state) ? "; more will follow" : "";
  if (mistake === "assign" && !first && before !== 0)
    return `gradient: ${number(after)}, and ${number(before)} is lost${more}`;
  if (mistake !== "assign" && (!first || before !== 0))
    return `gradient: ${number(before)} + ${inFormula(share)} = ${number(after)}${more}`;
  return `gradient${more && " so far"}: ${number(after)}${more}`;
}

// Whether uses of this node have not contributed yet.
const waiting = (model, node, {done}) => model.users[node].some(([user]) => !done[user]);

// The recorded formula of a local derivative, as pieces.
function localRule({graph, inMath, kinds, steps}, {giver, edge}) {
  if (steps.mistake === "local" && giver === steps.victim) return [];
  const called = (name, rank) => {
    const j = name === "y" ? giver : graph.operands(giver)[+name.slice(1)];
    return kinds[j] === "c" ? [(rank ? inFormula : number)(steps.d[j])] : inMath(j, rank);
  };
  return localInMath(graph.rules[graph.nodes[giver][0]].shares[edge], called);
}

function whyBackwards({leaves}) {
  const n = leaves.length.toLocaleString("en");
  return `Why backwards? To nudge ${n} leaves one by one takes ${n} more forward passes. One walk back ` +
    "from the result finds all their gradients.";
}

function whyMultiplied({name, graph}, {node, giver, local, upstream}) {
  const [x, y, result] = [node, giver, graph.root].map(name);
  return `Why multiply? When ${x} moves a little, ${y} moves ${number(local)} times as far, and ${result} ` +
    `moves ${number(upstream)} times as far as ${y}: together ${inFormula(local)} × ${inFormula(upstream)} times.`;
}

const whatFor = ({name, graph}) =>
  `What are the gradients for? To make ${name(graph.root)} smaller: One step moves each parameter a little, ` +
  "up if its gradient is negative, down if it is positive.";

// The step in one line of text, for the transcript and for screen readers.
function asText(model, at, {phase, sentence, equation, chains, state} = told(model, at)) {
  const parts = [`${{forward: "Forward: ", backward: "Backward: "}[phase] ?? ""}${sentence}`];
  if (equation) parts.push(equationText(model, equation));
  for (const chain of chains.slice(0, 8)) {
    const to = `${model.name(chain.node)}${chain.use ? ` (${chain.use})` : ""}`;
    parts.push(
      (chain.giver >= 0 && chain.explained !== false
        ? `${to}: local derivative ${number(chain.local)} × upstream gradient ${number(chain.upstream)} ` +
          `= ${number(chain.share)}; `
        : `${to} receives ${number(chain.share)}; `) + `${sumOf(model, chain, state)}.`,
    );
  }
  return parts.join(" ");
}

function equationText(model, {node, names, numbers, result}) {
  const parts = [plain(model.inMath(node)), plain(names), plain(numbers), result];
  return `${parts.filter((part, k) => part !== parts[k - 1]).join(" = ")}.`;
}
