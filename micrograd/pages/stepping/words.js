// What is said at each step: sentences and equations. Pure functions.
//
// A model is {graph, kinds, steps, view, boxes, first, delta, users, leaves, allMove, name(i), inMath(i)}: name(i)
// and inMath(i) are the short name of a node, as a text and as pieces of formula.js; `first` is the leaf that
// serves as an example, or -1, and `delta` how far it is said to move.

import {formulaOf, localInMath, plain} from "../shared/formula.js";
import {added, counted, inBrackets, inFormula, number} from "../shared/numbers.js";
import {chainTexts} from "../shared/picture.js";
import {filled} from "../shared/texts.js";

const KINDS = {i: "input", p: "parameter", c: "constant", o: "operation", r: "result"};
const USES = ["{{chain.use.1}}", "{{chain.use.2}}", "{{chain.use.3}}"];

// A node's name or number as pieces of formula.js.
export const callName = model => (j, rank) =>
  model.kinds[j] === "c" && !(j in model.labels) ? callNumber(model)(j, rank) : model.inMath(j, rank);
const callNumber =
  (model, told = number) =>
  (j, rank) => [rank > 0 ? inBrackets(told(model.steps.d[j])) : told(model.steps.d[j])];

// "a, b and c", or of more than `most`: "a, b, c and 5 more".
export function firstFew(texts, most = 4) {
  const shown = texts.length > most ? most - 1 : texts.length - 1;
  const about = {some: texts.slice(0, shown).join("{{list.comma}}"), last: texts.at(-1), n: texts.length - shown};
  return shown > 0 ? filled(texts.length > most ? "{{list.more}}" : "{{list.and}}", about) : texts.join("");
}

// The nodes inside an item that are computed, and its name.
const computed = (model, item) => item.nodes.filter(i => !model.graph.isLeaf(i));
export const itemName = (model, item) => (item.box === undefined ? model.name(item.node) : model.boxes[item.box].label);

// What the card of an item shows at all times.
export function describe({graph, kinds, boxes, name, paths, fixed}, item) {
  if (item.box !== undefined) {
    const {label, about} = boxes[item.box];
    const [first, second, ...others] = about.split(" · ");
    const lines = second && first.length + second.length < 14 ? [`${first}, ${second}`] : [first, second];
    lines.push(...others);
    const dot = label.length > 8 ? label.lastIndexOf(".") : 0; // a long name goes on in the next line
    if (dot > 0) lines.unshift(label.slice(dot));
    const isAround = boxes[item.box].kind === "outside";
    const isLeaf = boxes[item.box].kind === "leaves";
    const isConstant = item.nodes.every(i => kinds[i] === "c");
    const rows = isAround ? 0 : computed({graph}, item).length ? 3 : isConstant ? 1 : 2;
    const isResult = item.outputs.includes(graph.root);
    if (isResult) lines.push(`= ${name(graph.root)}`);
    const isInput = isLeaf && (isConstant || item.nodes.every(i => kinds[i] === "i"));
    const named = {title: dot > 0 ? label.slice(0, dot) : label, full: label, about: lines.filter(Boolean)};
    return {kind: "box", ...named, rows, isAround, isLeaf, isResult, isInput};
  }
  const i = item.node;
  const sign = graph.isLeaf(i) ? "" : graph.rule(i).sign;
  return {kind: KINDS[kinds[i]], title: name(i), full: paths[i] ?? name(i), sign, fixed: Boolean(fixed[i])};
}

// Everything about step `at`: {phase, sentence, equation, chains, state}. The equation is two lists of
// pieces, with names and with numbers, and the result; a chain is the chain rule for one operand.
export function told(model, at) {
  const {graph, steps, view, boxes} = model,
    step = steps.list[at],
    state = steps.state(at);
  const result = model.name(graph.root),
    item = view.items.get(step.item);
  /** @type {Told} */
  const found = {phase: step.phase, step, state, sentence: "", equation: null, chains: []};
  if (step.phase === "start") {
    found.sentence = filled(graph.isLeaf(graph.root) ? "{{say.start.leaf}}" : "{{say.start}}", {result});
  } else if (step.phase === "forward" && item.box === undefined) {
    const i = item.node;
    const operands = firstFew([...new Set(graph.operands(i).map(o => named(model, o)))]);
    found.sentence = filled("{{say.forward}}", {name: model.name(i), operands});
    if (!graph.isKnown(i)) found.sentence += " {{say.forward.own}}";
    const numbers = [...graph.operands(i), i].map(j => steps.d[j]);
    const isSum = graph.rule(i).op === "+";
    const {texts, is} = isSum ? added(numbers.slice(0, -1), numbers.at(-1)) : {texts: numbers.map(number), is: "="};
    const called = callNumber(model, x => texts[numbers.indexOf(x)] ?? number(x));
    found.equation = {
      node: i,
      names: formulaOf(graph, i, {stop: j => !model.isFormula(j), called: callName(model)}),
      numbers: formulaOf(graph, i, {stop: () => true, called}),
      is,
      result: texts.at(-1),
    };
  } else if (step.phase === "forward") {
    const n = item.outputs.length,
      isAround = boxes[item.box].kind === "outside",
      count = counted(computed(model, item).length);
    const values = {name: itemName(model, item), inside: boxes[view.focus]?.label, n, count};
    found.sentence = filled(isAround ? "{{say.around}}" : "{{say.box}}", values);
  } else if (step.phase === "seed") {
    found.sentence = filled(step.pass ? "{{say.seed.again}}" : "{{say.seed}}", {result});
  } else if (step.phase === "backward") {
    found.chains = chains(model, item, state);
    const receivers = [...new Set(found.chains.map(({node}) => node))];
    const uses = found.chains.length > 1 ? "{{say.backward.uses}}" : "{{say.backward}}";
    const say = receivers.length > 1 ? "{{say.backward.each}}" : uses;
    const isReceiver = i => item.box !== undefined && graph.isLeaf(i) && model.kinds[i] !== "c";
    const inside = item.nodes.filter(isReceiver).length;
    const to = receivers.length ? say : inside ? "{{say.backward.inside}}" : "{{say.backward.none}}";
    found.sentence = filled(inside && receivers.length ? `${to} {{say.backward.too}}` : to, {
      name: itemName(model, item),
      operands: firstFew(inBoxes(model, receivers)),
      n: counted(inside),
    });
  } else {
    const {first: leaf, delta} = model;
    const g = leaf < 0 ? 0 : state.g[leaf],
      size = Math.abs(g);
    found.sentence = "{{say.end}}";
    if (leaf >= 0 && model.wrong?.length) found.sentence += " {{say.end.wrong}}";
    else if (leaf >= 0) {
      const way = size < 1e-12 ? "{{say.end.still}}" : g > 0 ? "{{say.end.grows}}" : "{{say.end.shrinks}}";
      const numbers = {g: number(g), size: number(size), delta: number(delta), move: number(size * delta)};
      found.sentence += ` ${filled(way, {name: model.name(leaf), result, ...numbers})}`;
    }
  }
  if (step.phase === "forward") found.sentence += meansNow(model, at);
  return found;
}

// The names of these nodes; of many in one folded box their number and its name.
function inBoxes({view, name, boxes}, nodes) {
  const counts = new Map();
  for (const i of nodes) counts.set(view.itemOf[i], (counts.get(view.itemOf[i]) ?? 0) + 1);
  const called = i => {
    const [{box}, n] = [view.items.get(view.itemOf[i]), counts.get(view.itemOf[i])];
    return box === undefined || n < 5 ? name(i) : filled("{{say.numbers}}", {n: counted(n), name: boxes[box].label});
  };
  return [...new Set(nodes.map(called))];
}

// What an operation does, said where it first runs.
const OPERATIONS = JSON.parse("{{op.*}}");
function meansNow({graph, boxes, steps, view}, at) {
  const called = ({phase, item}) => {
    if (phase !== "forward") return "";
    const {box, node} = view.items.get(item);
    return box === undefined ? graph.rule(node).op : boxes[box].label.toLowerCase();
  };
  const name = called(steps.list[at]);
  const isFirst = Object.hasOwn(OPERATIONS, name) && steps.list.findIndex(step => called(step) === name) === at;
  return isFirst ? ` ${OPERATIONS[name]}` : "";
}

const named = (model, i) => (model.kinds[i] === "c" ? number(model.steps.d[i]) : model.name(i));

// The chain rule for each operand that receives a gradient from this item.
function chains(model, item, {changes, d, g}) {
  const own = changes.filter(({node}) => model.kinds[node] !== "c");
  const byNode = new Map(own.map(({node}) => [node, []]));
  for (const change of own) byNode.get(change.node).push(change);
  if (item.box === undefined) {
    return own.map(change => {
      const uses = byNode.get(change.node);
      const before = uses.indexOf(change);
      return {...change, isFirst: !before, use: (uses.length > 1 && USES[before]) || ""};
    });
  }
  // of a folded box: what leaves it, as one sum for each node
  const output = item.outputs.length === 1 ? item.outputs[0] : -1;
  const found = [...byNode.values()].map(some => {
    const share = some.reduce((sum, change) => sum + change.share, 0);
    return {...some[0], giver: output, edge: -1, share, after: some.at(-1).after};
  });
  if (output < 0) return found;
  const local = model.graph.backward(d, output, computed(model, item)); // through the box
  for (const chain of found) {
    Object.assign(chain, {local: local[chain.node], upstream: g[output]});
    chain.explained = Math.abs(chain.local * g[output] - chain.share) <= 1e-9 * Math.max(1, Math.abs(chain.share));
  }
  return found;
}

// Whether the factors of a chain can be told.
export const isTold = ({giver, explained}) => giver >= 0 && explained !== false;

// What an arrow shows at its step: the chain rule for its operand, or how many gradients go back along it.
export function arrowLabel({graph, kinds}, arrow, chains, hidden) {
  const onto = arrow.edges.map(([giver, k]) => graph.nodes[giver][k + 1]);
  const nodes = new Set(onto.filter(i => kinds[i] !== "c"));
  if (!nodes.size) return null;
  if (nodes.size > 1) return chains.length > 8 ? null : {text: filled("{{arrow.gradients}}", {n: counted(nodes.size)})};
  const [[giver, k]] = arrow.edges;
  const [node] = nodes;
  const chain = chains.find(c => (c.edge < 0 ? c.node === node : c.giver === giver && c.edge === k));
  if (!chain) return null;
  if (hidden.has(chain.node)) return {text: "?"};
  const {use, isFirst} = chain;
  return isTold(chain) ? {...chainTexts(chain), use, isFirst} : {text: number(chain.share)};
}

// How the operand's gradient grows.
export function sumOf(model, chain, state) {
  const {node, before, share, after, first} = chain,
    {mistake} = model.steps;
  const isLost = mistake === "assign" && !first && before !== 0,
    isAdded = mistake !== "assign" && (!first || before !== 0),
    more = waiting(model, node, state) || !Object.is(after, state.g[node]);
  const single = more ? "{{sum.far}}" : "{{sum.first}}",
    {texts, is} = isAdded ? added([before, share], after) : {texts: [before, share, after].map(number), is: "="},
    numbers = {before: texts[0], share: inBrackets(texts[1]), after: texts[2], is};
  const sum = filled(isLost ? "{{sum.lost}}" : isAdded ? "{{sum.added}}" : single, numbers);
  const n = model.users[node].length;
  const whole = n === 1 ? "{{sum.once}}" : n === 2 ? "{sum}" : "{{sum.of}}";
  return filled(more ? "{{sum.more}}" : whole, {sum, n: counted(n)});
}

// Whether uses of this node have not contributed yet.
export const waiting = (model, node, {done}) => model.users[node].some(([user]) => !done[user]);

// The recorded formula of a local derivative, as pieces.
export function localRule({graph, inMath, kinds, steps}, {giver, edge}) {
  if (steps.mistake === "local" && giver === steps.victim) return [];
  const called = (name, rank) => {
    const j = name === "y" ? giver : graph.operands(giver)[+name.slice(1)];
    return kinds[j] === "c" ? [(rank ? inFormula : number)(steps.d[j])] : inMath(j, rank);
  };
  return localInMath(graph.rule(giver).shares[edge], called);
}

export const isLoss = ({name, graph}) => /loss|error|cost/i.test(name(graph.root));

// What is explained at step `at`, below its chain rules: why backwards, why multiplied, why added where that first
// happens, and what for. `chain` is the one to explain, if any.
export function explained(model, at, chain) {
  const {name, graph, leaves, steps, kinds} = model;
  const result = name(graph.root);
  const {phase, pass} = steps.list[at];
  const why = (text, values = {}) => filled(text, {result, ...values});
  if (phase === "seed") return pass ? [] : [why("{{why.backwards}}", {n: counted(leaves.length)})];
  if (phase === "end") {
    const what = model.allMove ? "{{why.gradients.leaf}}" : "{{why.gradients}}";
    return [why("{{why.added}}"), why(isLoss(model) ? what : `${what} {{why.instead}}`)];
  }
  if (!chain) return [];
  const {node, giver, local, upstream} = chain;
  const [x, y] = [node, giver].map(name);
  const factors = {a: number(local), b: number(upstream), product: `${inFormula(local)} × ${inFormula(upstream)}`};
  const second = [null, why("{{why.local}}", {x, y}), why("{{why.multiply}}", {x, y, ...factors})][at - steps.seedAt];
  const adds = k => steps.state(k).changes.some(change => change.first === false && kinds[change.node] !== "c");
  const isFirst = adds(at) && steps.list.findIndex((_, k) => adds(k)) === at;
  return [second, isFirst && why("{{why.added}}")].filter(Boolean);
}

// The step in one line of text, for the transcript and for screen readers.
export function asText(model, at, {phase, sentence, equation, chains, state} = told(model, at)) {
  const whole = {forward: "{{line.forward}}", backward: "{{line.backward}}"}[phase] ?? "{text}";
  const parts = [filled(whole, {text: sentence})];
  if (equation) parts.push(equationText(model, equation));
  for (const chain of chains.slice(0, 8)) {
    const to = `${model.name(chain.node)}${chain.use ? ` (${chain.use})` : ""}`;
    const [local, upstream, share] = [chain.local, chain.upstream, chain.share].map(number);
    const told = {to, local, upstream, share, sum: sumOf(model, chain, state)};
    parts.push(filled(isTold(chain) ? "{{chain.product}}" : "{{chain.share}}", told));
  }
  return parts.join(" ");
}

function equationText(model, {node, names, numbers, is, result}) {
  const parts = [plain(model.inMath(node)), plain(names), plain(numbers)];
  const before = parts.filter((part, k) => part !== parts[k - 1]).join(" = ");
  return `${before}${result === parts.at(-1) ? "" : ` ${is} ${result}`}.`;
}
