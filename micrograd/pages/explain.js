"use strict";

// ---- 1. The graph and its program

// nodes: name, op, operands, kind, uses, free (whether it has a knob), own (whether its operation is
// user-defined); result: data of the result when the page was made.
const {title, nodes, result} = JSON.parse(document.getElementById("graph-data").textContent);
const root = nodes.length - 1;

// Functions that the program calls.
const {abs, exp, log, sqrt, sin, cos, tanh} = Math;
const sigmoid = x => 1 / (1 + exp(-x));
const relu = x => x < 0 ? 0 : x;
const where = (condition, a, b) => condition ? a : b;
const maximum = (x, y) => x > y || x !== x ? x : y;  // NaN if x or y is NaN
const minimum = (x, y) => x < y || x !== x ? x : y;

// ---- 2. Running it, with or without a mistake

const MISTAKES = {
  none: {label: "none", why: ""},
  assign: {
    label: "= instead of +=",
    why: "A node that is used more than once keeps only the last contribution; the derivative is the sum over all its uses.",
  },
  order: {
    label: "no topological order",
    why: "A node passes its gradient on when it is first reached, before all nodes that use it have added their contributions.",
  },
  twice: {
    label: "forgotten zero_grad()",
    why: "The second backward pass adds to the gradients that the first one left in the leaves, so they become twice as large.",
  },
  local: {
    label: "a wrong local derivative",
    why: "This operation passes its gradient on unchanged, as if its local derivative were 1, so all gradients that pass through it are wrong.",
  },
};

// The closures in preorder: each node when it is first reached, then its operands.
function preorder(backward) {
  const byNode = new Map(backward.map(closure => [closure.node, closure]));
  const order = [], seen = new Set(), stack = [root];
  while (stack.length) {
    const node = stack.pop();
    if (seen.has(node)) continue;
    seen.add(node);
    if (byNode.has(node)) order.push(byNode.get(node));
    stack.push(...nodes[node].operands.slice().reverse());
  }
  return order;
}

// Runs the whole program. A frame is one step: what is computed, in symbols and in numbers, and which
// entries change to what.
function run(leaves, mistake = "none", victim = -1) {
  const d = nodes.map(() => NaN), g = nodes.map(() => 0), frames = [];
  const {forward, backward} = program(d, g);
  const stated = (formula, name) => ({
    name,
    symbols: written(formula, shortName, i => `${shortName(i)}.grad`),
    numbers: written(formula, i => inFormula(d[i]), i => inFormula(g[i])),
  });
  const frame = (phase, about, node = -1) => {
    frames.push({phase, about, node, edges: [], lines: [], changes: []});
    return frames[frames.length - 1];
  };
  const put = (step, array, node, value) => {
    step.changes.push({array, node, to: value});
    (array === "d" ? d : g)[node] = value;
  };

  const start = frame("start", "The leaves have their data; nothing else has been computed yet.");
  nodes.forEach((node, i) => { if (!node.operands.length) put(start, "d", i, leaves.get(i)); });
  for (const {node, data} of forward) {
    const step = frame("forward", "", node);
    const line = stated(formulaOf(node, source(data)), `${shortName(node)} =`);
    put(step, "d", node, data());
    step.edges = nodes[node].operands.map((_, edge) => [node, edge, d[nodes[node].operands[edge]]]);
    step.lines.push({...line, result: number(d[node])});
    if (nodes[node].own) step.about = "A user-defined operation: the page keeps its recorded result.";
  }
  const closures = mistake === "order" ? preorder(backward) : backward;
  for (let pass = 0; pass < (mistake === "twice" ? 2 : 1); pass++) {
    const seed = frame("seed", pass ? "A second backward pass without zero_grad(): the leaves keep their gradients." :
      "Backpropagation starts at the result: its derivative with respect to itself is 1.", root);
    if (pass) nodes.forEach((n, i) => { if (n.operands.length && g[i]) put(seed, "g", i, 0); });
    put(seed, "g", root, nodes[root].operands.length ? 1 : g[root] + 1);
    seed.lines.push({name: `${shortName(root)}.grad =`, symbols: "", numbers: "", result: number(g[root])});
    for (const {node, shares} of closures) {
      const wrong = mistake === "local" && node === victim;
      const step = frame("backward", "", node);
      const contributions = shares.map(({share}) => wrong ? g[node] : share());
      shares.forEach(({edge, node: operand, share}, k) => {
        if (nodes[operand].kind === "constant") { g[operand] += contributions[k]; return; }
        const sign = mistake === "assign" ? "=" : "+=";
        const line = stated(wrong ? `g[${node}]` : source(share), `${shortName(operand)}.grad ${sign}`);
        const before = g[operand];
        put(step, "g", operand, mistake === "assign" ? contributions[k] : before + contributions[k]);
        step.edges.push([node, edge, contributions[k]]);
        const adds = mistake !== "assign" && (nodes[operand].uses > 1 || before !== 0);
        const after = adds ? `so ${shortName(operand)}.grad = ${number(before)} + ${inFormula(contributions[k])} = ${number(g[operand])}` :
          mistake === "assign" && before !== 0 ? `and ${number(before)} is lost` : "";
        step.lines.push({...line, result: number(contributions[k]), after});
      });
      if (wrong) step.about = "With the wrong local derivative, 1.";
      else if (!step.lines.length) step.about = "All its operands are constants, so there is no gradient to pass on.";
    }
  }
  return {frames, d, g};
}

// The text of a function of the program, without the arrow.
const source = f => String(f).replace(/^\(\) => /, "");

// The formula of a node. The result of a user-defined operation is a constant in the program, so its
// formula is written with the operation's name.
function formulaOf(node, program) {
  const {op, operands, own} = nodes[node];
  if (!own) return program;
  return `${op}(${operands.map(operand => `d[${operand}]`).join(", ")})`;
}

// A formula of the program with names or numbers instead of d[i] and g[i].
function written(formula, data, grad) {
  return formula.replace(/([dg])\[(\d+)\]|\d+(?:\.\d+)?e[-+]?\d+|\d+\.\d{4,}|Infinity|-/g,
    (text, array, i) => array === "d" ? data(+i) : array === "g" ? grad(+i) : text === "-" ? "−" : number(+text));
}
const inFormula = x => x < 0 ? `(${number(x)})` : number(x);
const shortName = i => nodes[i].kind === "constant" ? inFormula(leaves.get(i)) : nodes[i].name;

// Four significant digits, as in the drawings.
function number(x) {
  if (!isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "−inf";
  const [digits, power] = x.toExponential(3).split("e");
  const text = power < -4 || power > 3 ? `${+digits}e${+power}` : String(+x.toPrecision(4));
  return (+text === 0 ? "0" : text).replace(/-/g, "−");
}

// ---- 3. The state of the page

const $ = id => document.getElementById(id);
const made = (tag, text = "", attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const initial = new Map(program([], []).leaves.map(({node, number}) => [node, number]));
// Leaves an unchanged element alone: of a thousand cards, a step changes three.
function say(element, text, classes) {
  if (element.textContent !== text) element.textContent = text;
  if (element.getAttribute("class") !== classes) element.setAttribute("class", classes);
}
let leaves = new Map(initial), mistake = "none", victim = -1;
let right, played;  // the correct run, and the one on display
let at = 0, timer = 0, pinned = -1;

function recompute() {
  right = run(leaves);
  played = mistake === "none" ? right : run(leaves, mistake, victim);
  $("slider").max = played.frames.length - 1;
  for (const [i, {is}] of rows) if (nodes[i].op) say(is, formula(i), "");
  goTo(at);
  showAlarm();
  showComparison();
  showPaths(pinned);
  if ($("transcript").querySelector("details").open) writeTranscript();
}

// Data and gradients after the frames up to `step`; NaN in d means not computed yet.
function stateAt(step) {
  const state = {d: nodes.map(() => NaN), g: nodes.map(() => 0), known: new Set()};
  for (const {changes} of played.frames.slice(0, step + 1))
    for (const {array, node, to} of changes) {
      state[array][node] = to;
      if (array === "d") state.known.add(node);
    }
  return state;
}

function goTo(step) {
  at = Math.max(0, Math.min(step, played.frames.length - 1));
  show();
}

// ---- 4. Showing a step

const cards = new Map(), edges = new Map();
const svg = document.querySelector("#graph svg");

function findGraph() {
  const title = group => group.querySelector("title").textContent;
  for (const group of svg.querySelectorAll(".node")) {
    const i = nodes.findIndex(n => n.id === title(group));
    if (i < 0) continue;  // a node that only repeats a name, for an arrow from far away
    const shapes = group.querySelectorAll("path, polygon"), outline = shapes[shapes.length - 1];
    outline.classList.add("outline");
    const texts = [...group.querySelectorAll("text")];
    const card = {group};
    if (nodes[i].kind === "constant") card.data = texts[0];
    else [card.data, , card.grad] = texts.slice(-3);
    // The width of a number changes, so numbers are aligned with the right edge of the card.
    // (The edge is read from the shape itself: a frame that is not displayed yet has no sizes.)
    const xs = (outline.getAttribute("d") ?? outline.getAttribute("points")).match(/-?[\d.]+(?=,)/g);
    const low = Math.min(...xs), high = Math.max(...xs);
    const edge = nodes[i].kind === "constant" ? (low + high) / 2 : high - 5;
    for (const kind of ["data", "grad"]) if (card[kind]) {
      card[kind].classList.add(kind);
      card[kind].setAttribute("x", edge);
      card[kind].setAttribute("text-anchor", nodes[i].kind === "constant" ? "middle" : "end");
    }
    const label = texts.find(text => text.textContent === nodes[i].label);
    if (label) label.textContent = nodes[i].name;  // one of several nodes with the same label
    group.setAttribute("role", "button");
    group.addEventListener("mouseenter", () => showPaths(i));
    group.addEventListener("mouseleave", () => showPaths(pinned));
    group.addEventListener("focus", () => showPaths(i));
    group.addEventListener("blur", () => showPaths(pinned));
    group.addEventListener("click", () => {
      cards.get(pinned)?.group.setAttribute("aria-pressed", "false");
      pinned = pinned === i ? -1 : i;
      group.setAttribute("aria-pressed", String(pinned === i));
      showPaths(pinned);
    });
    cards.set(i, card);
  }
  // Graphviz numbers the arrows in the order of the DOT text: node by node, operand by operand.
  let count = 0;
  nodes.forEach((node, i) => node.operands.forEach((_, edge) =>
    edges.set(`${i}/${edge}`, svg.querySelector(`#edge${++count}`))));
  for (const group of svg.querySelectorAll("title")) group.remove();  // else v0, v1, ... pop up as tooltips
}

function show() {
  const step = played.frames[at], state = stateAt(at);
  const phase = step.phase === "backward" || step.phase === "seed" ? "backward" : "forward";
  document.body.className = phase;
  $("slider").value = at;
  $("slider").setAttribute("aria-valuetext", `step ${at} of ${played.frames.length - 1}: ${asText(step)}`);
  $("here").textContent = at;
  $("count").textContent = `${at} / ${played.frames.length - 1}`;
  $("phase").textContent = step.phase;
  $("about").textContent = step.about || describe(step);
  $("lines").replaceChildren(...step.lines.map(lineItem));

  const touched = new Set(step.changes.map(change => change.node));
  const news = array => new Set(step.changes.filter(c => c.array === array && step.phase !== "start").map(c => c.node));
  const newData = news("d"), newGrad = news("g");
  for (const [i, card] of cards) {
    const {classList} = card.group;
    classList.toggle("later", !state.known.has(i));
    classList.toggle("on", i === step.node);
    // The Tab key stops at one card only: that of the current step.
    card.group.setAttribute("tabindex", i === (step.node < 0 ? root : step.node) ? "0" : "-1");
    classList.toggle("touched", i !== step.node && step.phase === "backward" && touched.has(i));
    say(card.data, state.known.has(i) ? number(state.d[i]) : "·", newData.has(i) ? "data new" : "data");
    if (card.grad) {
      const bad = at === played.frames.length - 1 && differs(i);
      say(card.grad, number(state.g[i]), bad ? "grad bad" : newGrad.has(i) ? "grad new" : "grad");
    }
    card.group.setAttribute("aria-label", `${shortName(i)}, data ${card.data.textContent}` +
      (card.grad ? `, grad ${card.grad.textContent}` : ""));
  }
  for (const label of svg.querySelectorAll(".flow")) label.remove();
  const active = new Map(step.edges.map(([node, edge, flow]) => [`${node}/${edge}`, flow]));
  for (const [key, group] of edges) {
    if (!group) continue;
    group.classList.toggle("on", active.has(key));
    group.classList.toggle("later", !state.known.has(+key.split("/")[0]));
    if (active.has(key)) labelArrow(group, number(active.get(key)));
  }
  showTable(state, step, newData, newGrad);
  for (const item of $("transcript").querySelectorAll("button")) markStep(item);
  if (step.node >= 0) bringIntoView(cards.get(step.node).group);
}

function labelArrow(group, text) {
  const path = group.querySelector("path"), middle = path.getPointAtLength(path.getTotalLength() / 2);
  const label = document.createElementNS("http://www.w3.org/2000/svg", "text");
  label.setAttribute("class", "flow");
  label.setAttribute("x", middle.x);
  label.setAttribute("y", middle.y - 4);
  label.textContent = text;
  group.parentNode.append(label);  // last, so that cards do not cover it
}

const differs = i => !Object.is(played.g[i], right.g[i]) &&
  !(isFinite(right.g[i]) && abs(played.g[i] - right.g[i]) <= 1e-12 * Math.max(1e-300, abs(right.g[i])));

function describe(step) {
  const {op, operands} = nodes[step.node] || {};
  if (step.phase === "forward") return `${shortName(step.node)} is computed from its operands.`;
  const receivers = operands.filter(i => nodes[i].kind !== "constant").length;
  return `${shortName(step.node)} passes its gradient on${receivers > 1 ? " to each operand" : ""}, times the local derivative of ${op}.`;
}

// The first number that is not finite. The page keeps computing; the engine would raise an error.
function showAlarm() {
  const step = played.frames.find(({changes}) => changes.some(({to}) => !isFinite(to)));
  $("alarm").hidden = !step;
  if (!step) return;
  const {array, node, to} = step.changes.find(({to}) => !isFinite(to));
  const turned = [...initial].some(([i, start]) => !Object.is(leaves.get(i), start));
  $("alarm").textContent = `${shortName(node)}${array === "g" ? ".grad" : ""} is ${number(to)} from step ${played.frames.indexOf(step)} on: ` +
    (turned ? "turn a knob back." : "it is not defined for these leaves.");
}

const asText = step => [step.about, step.lines.map(line => {
  const [parts, result] = equation(line);
  return `${parts}${result}${line.after ? ` ${line.after}` : ""}`;
}).join("; ")].filter(Boolean).join(" ") || describe(step);

// A line of mathematics in two parts: all but its result, and the result. Repetitions are left out.
function equation({name, symbols, numbers, result}) {
  const parts = [symbols, numbers, result].filter(Boolean), bare = text => text.replace(/^\((.*)\)$/, "$1");
  const told = parts.slice(0, -1).filter((part, i) => bare(part) !== bare(parts[i + 1]));
  return [`${name} ${told.map(part => `${part} = `).join("")}`, result];
}

function lineItem(line) {
  const item = made("li"), [parts, result] = equation(line);
  item.append(parts, made("b", result));
  if (line.after) item.append(" ", made("span", line.after, {class: "then"}));
  return item;
}

const rows = new Map();

function makeTable() {
  nodes.forEach((node, i) => {
    if (node.kind === "constant") return;
    const row = made("tr"), is = made("td", node.kind), data = made("td"), grad = made("td");
    row.append(made("td", shortName(i), {class: "name"}), is, data, grad);
    rows.set(i, {row, is, data, grad});
  });
  document.querySelector("#table tbody").append(...[...rows.values()].map(({row}) => row));
}

function showTable(state, step, newData, newGrad) {
  for (const [i, {row, data, grad}] of rows) {
    row.classList.toggle("on", i === step.node);
    say(data, state.known.has(i) ? number(state.d[i]) : "·", newData.has(i) ? "n new" : "n");
    say(grad, number(state.g[i]), newGrad.has(i) ? "n new" : "n");
  }
  const active = rows.get(step.node), scroll = document.querySelector("#table .scroll");
  if (active) scroll.scrollTop = active.row.offsetTop - scroll.clientHeight / 2;
}
const formulas = new Map(program([], []).forward.map(({node, data}) => [node, formulaOf(node, source(data))]));
const formula = i => written(formulas.get(i), shortName, shortName);

// ---- 5. Paths: the gradient of a node as the sum over all paths to the result

const MOST_PATHS = 8, LONGEST = 60;

function showPaths(from) {
  const onPath = new Set(from < 0 ? [] : [from]), users = nodes.map(() => []);
  nodes.forEach((node, i) => node.operands.forEach((operand, edge) => users[operand].push([i, edge])));
  if (from >= 0) nodes.forEach((node, i) => { if (node.operands.some(o => onPath.has(o))) onPath.add(i); });
  for (const [i, card] of cards) card.group.classList.toggle("path", onPath.has(i));
  for (const [key, group] of edges) {
    const [node, edge] = key.split("/").map(Number);
    if (group) group.classList.toggle("path", from >= 0 && onPath.has(nodes[node].operands[edge]));
  }
  if (from < 0) {
    $("sum").replaceChildren(made("p", "Point at a card or tap it to see its paths, and its gradient as the sum over them.", {class: "faint", id: "hint"}));
    return;
  }
  // With an upstream gradient of 1, a closure's contributions are its local derivatives.
  const local = new Map();
  for (const {node, shares} of program(right.d, nodes.map(() => 1)).backward)
    for (const {edge, share} of shares) local.set(`${node}/${edge}`, share());
  const ways = nodes.map(() => 0);
  ways[root] = 1;
  for (let i = root - 1; i >= from; i--) ways[i] = users[i].reduce((sum, [user]) => sum + ways[user], 0);
  const name = shortName(from), lines = [];
  const paths = [{node: from, names: name, factors: []}];
  const many = ways[from] > MOST_PATHS || onPath.size > LONGEST;
  while (paths.length && !many) {
    const {node, names, factors} = paths.pop();
    if (node === root) {
      const product = factors.reduce((a, b) => a * b, 1);
      lines.push(made("li", `${names}:  ${factors.map(inFormula).join(" × ") || "1"} = ${number(product)}`));
    }
    for (const [user, edge] of users[node].slice().reverse())
      paths.push({node: user, names: `${names} → ${shortName(user)}`, factors: [...factors, local.get(`${user}/${edge}`)]});
  }
  const count = ways[from] === 1 ? "1 path" : `${ways[from] < 2 ** 53 ? ways[from].toLocaleString("en") : number(ways[from])} paths`;
  const total = `d ${shortName(root)} / d ${name} = ${number(right.g[from])}, the sum over ${count}` + (many ? ", too many or too long to list. Backpropagation adds them up without following each one." : "");
  const list = made("ul", "", {class: "lines"});
  list.append(...lines);
  $("sum").replaceChildren(made("p", total), list);
}

// ---- 6. Knobs, mistakes, transcript

const knobs = [];

function makeKnobs() {
  const open = $("leaves"), folded = $("knobs").querySelector("details > div");
  for (const [i, start] of initial) {
    const reach = Math.max(2, 2 * abs(start));
    const knob = made("div", "", {class: "knob"}), id = `knob${i}`;
    const range = made("input", "", {type: "range", step: "any", "aria-label": `${shortName(i)}, slider`});
    if (isFinite(start)) Object.assign(range, {min: start - reach, max: start + reach});
    const box = made("input", "", {type: "number", step: "any", id});
    const grad = made("span", "", {class: "rate"});
    const set = (value, source) => {
      if (!Number.isFinite(value)) return;  // the box is empty while the user types
      leaves.set(i, value);
      if (source !== range) range.value = value;
      if (source !== box) box.value = +value.toPrecision(4);
      recompute();
    };
    box.addEventListener("blur", () => { if (box.value === "") box.value = +leaves.get(i).toPrecision(4); });
    range.addEventListener("input", () => set(+range.value, range));
    box.addEventListener("input", () => set(box.value === "" ? NaN : +box.value, box));
    const reset = () => {
      if (!range.disabled) range.value = start;
      box.value = isFinite(start) ? +start.toPrecision(4) : "";
    };
    box.disabled = !nodes[i].free;
    range.disabled = box.disabled || !isFinite(start - reach) || !isFinite(start + reach);
    reset();
    const label = made("label", nodes[i].kind === "constant" ? `constant ${shortName(i)}` : shortName(i), {for: id});
    label.classList.toggle("long", label.textContent.length > 8);
    knob.append(label, range, box, grad);
    (nodes[i].kind === "constant" ? folded : open).append(knob);
    const showGrad = () => { grad.textContent = nodes[i].kind === "constant" ? "" : number(played.g[i]); };
    knobs.push({reset, showGrad});
  }
  folded.parentNode.hidden = !folded.children.length;
  const stuck = nodes.filter(n => !n.operands.length && !n.free && n.kind !== "constant").map(n => n.name);
  $("fixed").hidden = !stuck.length;
  $("fixed").textContent = `No knob for ${stuck.join(", ")}: the path to the result goes through a user-defined operation, which this page cannot compute again.`;
  $("reset").addEventListener("click", () => {
    leaves = new Map(initial);
    for (const knob of knobs) knob.reset();
    recompute();
  });
}

function makeMistakes() {
  const fieldset = $("breaks").querySelector("fieldset"), choice = $("which").querySelector("select");
  for (const [key, {label}] of Object.entries(MISTAKES)) {
    const row = made("label"), radio = made("input", "", {type: "radio", name: "mistake", value: key});
    radio.checked = key === "none";
    radio.addEventListener("change", () => { mistake = key; recompute(); });
    row.append(radio, ` ${label}`);
    fieldset.append(row);
  }
  const interior = nodes.map((n, i) => i).filter(i => nodes[i].operands.length).reverse();
  for (const i of interior) choice.append(made("option", `${shortName(i)} = ${formula(i)}`, {value: i}));
  // At first, the operation nearest to the result that is not a sum.
  victim = interior.find(i => nodes[i].op !== "+") ?? interior[0] ?? -1;
  choice.value = victim;
  choice.addEventListener("change", () => { victim = +choice.value; recompute(); });
}

function showComparison() {
  const broken = mistake !== "none", rows = [];
  $("which").hidden = mistake !== "local";
  $("why").hidden = $("comparison").hidden = !broken;
  for (const knob of knobs) knob.showGrad();
  if (!broken) return;
  const shown = nodes.map((n, i) => i).filter(i => nodes[i].kind !== "constant" && (differs(i) || !nodes[i].operands.length));
  for (const i of shown.sort((a, b) => differs(b) - differs(a) || a - b).slice(0, 12)) {
    const row = made("tr", "", differs(i) ? {class: "wrong"} : {});
    row.append(made("td", `${shortName(i)}.grad`, {class: "name"}), made("td", number(played.g[i]), {class: "n now"}), made("td", number(right.g[i]), {class: "n good"}));
    rows.push(row);
  }
  const isWrong = shown.some(differs);
  const more = shown.length > 12 ? ` ${shown.length - 12} more rows are not shown.` : "";
  $("why").textContent = MISTAKES[mistake].why + (isWrong ? "" : " Here it makes no difference.") + more;
  $("comparison").querySelector("tbody").replaceChildren(...rows);
}

function markStep(button) {
  if (+button.dataset.step === at) button.setAttribute("aria-current", "step");
  else button.removeAttribute("aria-current");
}

function writeTranscript() {
  const items = played.frames.map((step, k) => {
    const button = made("button", `${step.phase}: ${asText(step)}`, {"data-step": k}), item = made("li");
    button.addEventListener("click", () => { pause(); goTo(k); });
    markStep(button);
    item.append(button);
    return item;
  });
  $("transcript").querySelector("ol").replaceChildren(...items);
}

// ---- 7. Transport, keys, size

function pause() {
  clearInterval(timer);
  timer = 0;
  $("play").textContent = "Play";
}
function play() {
  if (timer) return pause();
  if (at === played.frames.length - 1) goTo(0);
  $("play").textContent = "Pause";
  timer = setInterval(() => {
    goTo(at + 1);
    if (at === played.frames.length - 1) pause();
  }, +$("speed").value);
}
const actions = {
  first: () => goTo(0), back: () => goTo(at - 1), next: () => goTo(at + 1),
  last: () => goTo(played.frames.length - 1),
};
for (const [id, action] of Object.entries(actions))
  $(id).addEventListener("click", () => { pause(); action(); });
$("play").addEventListener("click", play);
$("slider").addEventListener("input", () => { pause(); goTo(+$("slider").value); });
$("speed").addEventListener("change", () => { if (timer) { pause(); play(); } });

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target, typing = target.matches("select, input:not(#slider)");
  const key = {ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last"}[event.key];
  if (key && !typing) { event.preventDefault(); pause(); actions[key](); }
  if (event.key === " " && !typing && !target.matches("button, summary")) {
    event.preventDefault();
    if (target.matches(".node")) target.dispatchEvent(new Event("click"));
    else play();
  }
  if (event.key === "Enter" && target.matches(".node")) target.dispatchEvent(new Event("click"));
});

// Fits the width, but never so small that it cannot be read: then the frame scrolls.
const size = {width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height};
let scale = 1, fitted = 0;  // the width it was fitted to: a change of height alone keeps the zoom
function zoomTo(wanted) {
  scale = Math.max(.2, Math.min(3, wanted));
  svg.setAttribute("width", size.width * scale);
  svg.setAttribute("height", size.height * scale);
}
function fit() {
  fitted = $("graph").clientWidth;
  const across = (fitted - 26) / size.width, down = (innerHeight * .6 - 26) / size.height;
  zoomTo(Math.max(.62, Math.min(1.9, across, Math.max(1, down))));
}
$("fit").addEventListener("click", fit);
$("larger").addEventListener("click", () => zoomTo(scale * 1.25));
$("smaller").addEventListener("click", () => zoomTo(scale / 1.25));
addEventListener("resize", () => { if ($("graph").clientWidth !== fitted) fit(); });

function bringIntoView(card) {
  const frame = $("graph"), box = card.getBoundingClientRect(), view = frame.getBoundingClientRect();
  if (frame.scrollWidth <= frame.clientWidth && frame.scrollHeight <= frame.clientHeight) return;
  if (box.left < view.left + 40 || box.right > view.right - 40 || box.top < view.top + 20 || box.bottom > view.bottom - 20)
    frame.scrollBy({left: box.left + box.width / 2 - view.left - view.width / 2, top: box.top + box.height / 2 - view.top - view.height / 2});
}

document.querySelector("h1").textContent = title;
findGraph();
makeTable();
makeKnobs();
makeMistakes();
fit();
recompute();
if (abs(right.d[root] - result) > 1e-9 * Math.max(1, abs(result))) {
  $("stale").hidden = false;
  $("stale").textContent = `The forward pass was run again from the current leaves: ${shortName(root)} was ${number(result)} and is now ${number(right.d[root])}.`;
}
$("transcript").querySelector("details").addEventListener("toggle", writeTranscript);
addEventListener("beforeprint", () => { $("transcript").querySelector("details").open = true; writeTranscript(); });
