// The stepping page: what is on it, and what happens when the reader does something.

const $ = id => document.getElementById(id);
const made = (tag, text = "", attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const page = JSON.parse($("data").textContent);
const MOST_CARDS = 40, MOST_ROWS = 200, PACE = 1600;

// ---- 1. The graph on display, and its state

let own = null;      // the graph that Python recorded
let model = null;    // the graph on display: that one, or the small example
let stage = null, transport = null;
let past = [];       // what Undo goes back to
let open = new Set(), mistake = "", victim = -1, nudging = false, picked = -1, rate = page.learningRate;
let descent = [];    // the results after each step down the gradient
let lesson = null;   // what the last step down the gradient did
let asking = false, answered = new Set();  // predict: which numbers of which step have been found

function loaded(data) {
  const graph = new Graph(data);
  const name = i => data.labels[i] ?? `v${i}`;
  const fixed = new Uint8Array(graph.nodes.length);  // leaves of user-defined operations
  for (let i = graph.root; i >= 0; i--)
    if (fixed[i] || !graph.isKnown(i)) for (const o of graph.operands(i)) fixed[o] = 1;
  const leaves = graph.nodes.flatMap((_, i) => graph.isLeaf(i) && data.kinds[i] !== "c" ? [i] : []);
  // as a reader looks for them: inputs, then parameters, w2 before w10
  const natural = new Intl.Collator("en", {numeric: true});
  leaves.sort((a, b) => data.kinds.charCodeAt(a) - data.kinds.charCodeAt(b) || natural.compare(name(a), name(b)));
  const users = graph.nodes.map(() => []);  // of each node: [the node that uses it, as which operand]
  graph.nodes.forEach((node, i) => { for (let k = 1; k < node.length; k++) users[node[k]].push([i, k - 1]); });
  return {...data, data, graph, name, fixed, leaves, users, levels: new Levels(graph, data.boxes, data.boxOf),
    initial: new Map(graph.leaves), numbers: new Map(graph.leaves)};
}

// Draws anew what depends on which boxes are open.
function unfolded() {
  model.view = model.levels.view(open);
  model.view.levels = model.levels;
  recompute(false);
  stage.draw(model.view, describe);
  resize();
}

// Computes anew what depends on the leaves and on the mistake.
function recompute(draw = true) {
  model.right = new Steps(model.graph, model.view, model.numbers);
  model.steps = mistake ? new Steps(model.graph, model.view, model.numbers, mistake, victim) : model.right;
  showMistake();
  if (draw) transport.goTo(transport.at());
}

function describe(item) {
  const {graph, kinds, boxes} = model;
  if (item.box !== undefined) {
    const {label, about} = boxes[item.box], one = item.outputs.length === 1;
    return {kind: "box", title: label, full: label, about: about.split(" · ").reduce((lines, part, k) => k === 1 ? [`${lines[0]}, ${part}`] : [...lines, part], []), data: one};
  }
  const i = item.node, kind = {i: "input", p: "parameter", c: "constant", o: "operation", r: "result"}[kinds[i]];
  const sign = graph.isLeaf(i) ? "" : graph.rules[graph.nodes[i][0]].sign;
  return {kind, title: model.name(i), full: model.paths[i] ?? model.name(i), sign, fixed: Boolean(model.fixed[i])};
}

// What Undo restores.
function remember(what) {
  const last = past[past.length - 1];
  if (last?.what === what && what.startsWith("turn")) return;  // one turn of a knob, many small moves
  past.push({what, model, numbers: new Map(model.numbers), mistake, victim, descent: descent.slice(), lesson});
  if (past.length > 200) past.shift();
  $("undo").disabled = false;
}

function undo() {
  const before = past.pop();
  if (!before) return;
  if (before.model !== model) show(before.model);
  model.numbers = before.numbers;
  ({mistake, victim, descent, lesson} = before);
  $("undo").disabled = !past.length;
  recompute();
}

// ---- 2. One moment

const wordOf = {start: "start", forward: "forward", seed: "seed", backward: "backward", end: "done"};
let shownAt = -1;

function showStep(at) {
  const now = told(model, at), {step, state} = now;
  const backward = at >= model.steps.seedAt, hidden = hiddenAt(at, now);
  document.body.classList.toggle("backward", backward);
  $("phase").textContent = wordOf[step.phase];
  $("sentenceNow").textContent = hidden.size ? now.sentence.replace(/, [^ ]*\d[^ ]*(?= \()/, "") : now.sentence;
  showEquation(now, hidden);
  showChains(now, hidden);
  stage.show(pictureOf(at, now, hidden));
  shownAt = at;
  askQuestion(at, now, hidden);
  showAlarm(state);
  showNudge(at, state);
  showDescent();
  showLeaf();
  showDrawer(at, state);
  if (transport && !transport.isPlaying()) $("spoken").textContent = hidden.size ? now.sentence : asText(model, at, now);
  $("slider").setAttribute("aria-valuetext", `step ${at} of ${model.steps.count - 1}: ${now.sentence}`);
  keepAddress(at);
}

function pictureOf(at, {step, state, chains}, hidden) {
  const {steps, view, kinds} = model, {d, g, known, seeded, done} = state;
  const backward = at >= steps.seedAt, cards = new Map();
  const changed = new Set(state.changes.map(({node}) => node));
  const finished = at === steps.count - 1, wrong = finished && mistake ? model.right.gradients() : null;
  const gradOf = i => hidden.has(i) && backward ? "?" : seeded[i] ? number(g[i]) : "·";
  const dataOf = i => hidden.has(i) && !backward ? "?" : known[i] ? number(d[i]) : "·";
  for (const item of view.items.values()) {
    const i = item.box === undefined ? item.node : item.outputs.length === 1 ? item.outputs[0] : -1;
    const later = !item.nodes.every(n => known[n]);
    const card = {later: item.box === undefined ? !known[i] : later && !item.nodes.some(n => known[n] && !model.graph.isLeaf(n))};
    if (i >= 0) Object.assign(card, {
      data: dataOf(i), grad: gradOf(i), number: d[i],
      fresh: changed.has(i) ? (backward ? "grad" : "data") : "",
      wrong: wrong !== null && differs(g[i], wrong[i]),
    });
    card.now = step.item === item.name;
    card.given = backward && item.nodes.some(n => done[n]);
    card.picked = item.box === undefined && i === picked && kinds[i] !== "c";
    card.spoken = item.box === undefined
      ? `${model.name(i)}, ${describe(item).kind}, data ${dataOf(i)}${kinds[i] === "c" ? "" : `, grad ${gradOf(i)}`}`
      : `Unfold ${itemName(model, item)}`;
    cards.set(item.name, card);
  }
  const arrows = view.arrows.map(arrow => {
    const givers = arrow.edges.map(([giver]) => giver), now = step.item === arrow.to && ["forward", "backward"].includes(step.phase);
    const onto = arrow.edges.map(([giver, k]) => model.graph.nodes[giver][k + 1]);
    return {now: now && !(backward && kinds[onto[0]] === "c"), passed: backward && givers.some(i => done[i]), later: !backward && !onto.every(i => known[i]),
      label: now && backward ? arrowLabel(arrow, onto, chains, hidden, chains.length > 8) : null};
  });
  badges(at, state, cards);
  const active = view.items.get(step.item);
  const focus = active ? [active.name, ...view.arrows.filter(a => a.to === active.name).map(a => a.from)] : [];
  const finishedFocus = step.phase === "end" || step.phase === "start" ? [] : focus;
  return {backward, cards, arrows, focus: finishedFocus, travel: at === shownAt + 1 && active && step.phase !== "seed",
    duration: Math.min(700, PACE / +$("speed").value * .6)};
}

const differs = (a, b) => !Object.is(a, b) && !(Math.abs(a - b) <= 1e-12 * Math.max(1e-300, Math.abs(b)));

function arrowLabel(arrow, onto, chains, hidden, crowded) {
  const nodes = new Set(onto.filter(i => model.kinds[i] !== "c"));
  if (!nodes.size) return null;
  if (nodes.size > 1) return crowded ? null : {text: `${nodes.size.toLocaleString("en")} gradients`};
  const [[giver, k]] = arrow.edges, [node] = nodes;
  const chain = chains.find(c => c.edge < 0 ? c.node === node : c.giver === giver && c.edge === k);
  if (!chain) return null;
  if (hidden.has(chain.node)) return {text: "?"};
  if (chain.giver < 0 || chain.explained === false) return {text: number(chain.share)};
  return {local: inFormula(chain.local), upstream: inFormula(chain.upstream), share: number(chain.share), use: chain.use};
}

function showEquation(now, hidden) {
  const equation = now.equation;
  $("equation").replaceChildren();
  if (!equation) return;
  const parts = [nameInMath(model.name(equation.node)), equation.names, equation.numbers,
    [hidden.size ? "?" : equation.result]].filter((part, k, all) => !k || plain(part) !== plain(all[k - 1]));
  parts.forEach((part, k) => {
    if (k) $("equation").append(" = ");
    $("equation").append(written(made(k === parts.length - 1 ? "b" : "span"), part));
  });
}

// The chain rule for each operand: three numbers in their colours, each above what it is called.
function showChains({step, chains, state}, hidden) {
  $("chains").replaceChildren();
  const factor = (className, text, names, word) => {
    const cell = made("span", "", {class: `factor ${className}`});
    cell.append(made("b", text), made("small", ""));
    written(cell.lastChild, names);
    if (word) cell.append(made("small", word, {class: "term"}));
    return cell;
  };
  const rate = (of, by) => ["∂", ...nameInMath(of), " / ∂", ...nameInMath(by)];
  const result = model.name(model.graph.root);
  const most = chains[0]?.giver < 0 ? 3 : 6;
  for (const chain of chains.slice(0, most)) {
    const row = made("div", "", {class: "chain"}), node = model.name(chain.node), secret = hidden.has(chain.node);
    const head = made("span", "", {class: "to"});
    head.append(made("small", "to "), written(made("b"), nameInMath(node)), chain.use ? made("small", ` ${chain.use}`) : "");
    row.append(head);
    if (chain.giver >= 0 && chain.explained !== false) {
      const giver = model.name(chain.giver);
      row.append(factor("local", secret ? "?" : number(chain.local), rate(giver, node), "local derivative"), made("span", "×", {class: "sign"}),
        factor("gradient", number(chain.upstream), rate(result, giver), "upstream gradient"), made("span", "=", {class: "sign"}));
    }
    row.append(factor("share", secret ? "?" : number(chain.share), chain.giver >= 0 ? "" : "", "contribution"));
    if (!secret) {
      const more = waiting(chain.node, state);
      row.append(made("span", `${sumOf(chain, mistake)}${more ? "; more will follow" : ""}`, {class: "sum"}));
    }
    $("chains").append(row);
  }
  if (chains.length > most) $("chains").append(made("p", `and ${chains.length - most} more`, {class: "faint"}));
  if (step.phase === "seed" && !step.pass) $("chains").append(made("p",
    "Why backwards? Each operation needs only the gradient of its own output. So one walk from the result gives the gradients of all leaves.", {class: "faint"}));
  if (step.phase === "end") $("chains").append(made("p",
    "A training step uses the gradients: One step moves each parameter a little against its gradient, so that the result becomes smaller.", {class: "faint"}));
}

// Whether uses of this node have not contributed yet.
const waiting = (node, {done}) => model.users[node].some(([user]) => !done[user]);

// ---- 3. Predict: the numbers of a step stay hidden until they have been typed

function questions(at, {step, state, chains}) {
  if (step.phase === "forward" && state.changes.length) {
    const item = model.view.items.get(step.item), nodes = item.outputs.length === 1 ? item.outputs : [];
    return nodes.map(i => ({node: i, text: `${model.name(i)} = `, value: state.d[i]}));
  }
  const seen = new Set();
  return chains.filter(({node}) => !seen.has(node) && seen.add(node)).slice(0, 4)
    .map(({node}) => ({node, text: `gradient of ${model.name(node)} after this step = `, value: state.g[node]}));
}

function hiddenAt(at, now) {
  if (!asking) return new Set();
  return new Set(questions(at, now).map(({node}) => node).filter(node => !answered.has(`${at}/${node}`)));
}

function askQuestion(at, now, hidden) {
  const question = questions(at, now).find(({node}) => hidden.has(node));
  $("question").hidden = !question;
  if (!question) return;
  $("asked").textContent = question.text;
  $("answer").value = "";
  const finish = (right, text) => {
    answered.add(`${at}/${question.node}`);
    showStep(at);
    verdict(right, text);
  };
  $("question").onsubmit = event => {
    event.preventDefault();
    const typed = Number($("answer").value.trim().replace("−", "-").replace(",", "."));
    if ($("answer").value.trim() === "" || Number.isNaN(typed)) return verdict(false, "Type a number.");
    const {value} = question, close = Math.abs(typed - value) <= Math.max(.01 * Math.abs(value), 1e-12);
    if (close || number(typed) === number(value)) finish(true, `Right: ${number(value)}.`);
    else verdict(false, now.step.phase === "forward" ? "Not yet. Put the numbers of the operands into the formula."
      : "Not yet. Local derivative × upstream gradient, added to what is there already.");
  };
  $("tell").onclick = () => finish(true, `It is ${number(question.value)}.`);
}

function verdict(right, text) {
  $("verdict").hidden = false;
  $("verdict").className = right ? "good" : "wrong";
  $("verdict").textContent = `${right ? "✓" : "✗"} ${text}`;
}

// ---- 4. Leaves: knobs, nudge, one step down

// The size of one turn: about a hundredth of a typical size of the leaf.
function unit(leaf) {
  const size = Math.abs(model.initial.get(leaf));
  return 10 ** (Math.floor(Math.log10(size > .1 && size < 1 || !size || !isFinite(size) ? 1 : size)) - 1);
}

function turn(leaf, steps) {
  setLeaf(leaf, +(model.numbers.get(leaf) + steps * unit(leaf)).toPrecision(12));
}

function setLeaf(leaf, value) {
  if (!Number.isFinite(value) || model.fixed[leaf]) return;
  remember(`turn ${leaf}`);
  model.numbers.set(leaf, value);
  lesson = null;
  recompute();
}

function pick(leaf) {
  picked = leaf;
  $("leaf").value = leaf;
  $("delta").value = unit(leaf) / 10;
  showStep(transport.at());
}

function showLeaf() {
  const value = model.numbers.get(picked);
  const fixed = picked < 0 || model.fixed[picked];
  for (const id of ["value", "less", "more", "nudge"]) $(id).disabled = Boolean(fixed);
  $("value").title = fixed ? "This leaf leads to a user-defined operation, which the page cannot run again" : "↑ and ↓ turn it";
  if (document.activeElement !== $("value")) $("value").value = value === undefined ? "" : +value.toPrecision(5);
}

// The move of the result that the gradient predicts, beside the actual one.
function nudgeAt(at, state) {
  const delta = +$("delta").value, {graph, steps} = model;
  if (!nudging || picked < 0 || !delta) return null;
  const complete = at >= steps.seedAt && state.seeded[picked] && !waiting(picked, state);
  const moved = nudged(graph, model.numbers, picked, delta, state.g[picked]);
  return {delta, leaf: picked, predicted: complete ? moved.predicted : NaN, actual: state.known[graph.root] ? moved.actual : NaN, complete};
}
const signed = x => Number.isNaN(x) ? "·" : x > 0 ? `+${number(x)}` : number(x);

function badges(at, state, cards) {
  const nudge = nudgeAt(at, state), {view, graph} = model;
  if (nudge) {
    const leafCard = cards.get(view.itemOf[nudge.leaf]), resultCard = cards.get(view.itemOf[graph.root]);
    if (leafCard) leafCard.badge = [[["plain", `nudged by ${signed(nudge.delta)}`]]];
    if (resultCard) resultCard.badge = [[["plain", "predicted "], ["gradient", signed(nudge.predicted)]],
      [["plain", "actual "], ["plain", signed(nudge.actual)]]];
  }
}

function showNudge(at, state) {
  const nudge = nudgeAt(at, state), leaf = picked < 0 ? "" : model.name(picked), result = model.name(model.graph.root);
  $("nudge").setAttribute("aria-pressed", nudging);
  $("nudged").hidden = !nudge;
  if (!nudge) return;
  const longest = Math.max(Math.abs(nudge.predicted) || 0, Math.abs(nudge.actual) || 0) || 1;
  const bar = (word, value, className) => {
    const row = made("div", "", {class: "bar"}), line = made("i", "", {class: className});
    line.style.width = `${100 * (Math.abs(value) || 0) / longest}%`;
    const track = made("span", "", {class: "track"});
    track.append(line);
    row.append(made("span", word), track, made("b", signed(value), {class: className}));
    return row;
  };
  const words = nudge.complete
    ? `${leaf} moves by ${signed(nudge.delta)}. Predicted move of ${result}: gradient × Δ = ${number(state.g[picked])} × ${inFormula(nudge.delta)}. The smaller Δ, the better the two agree.`
    : `The gradient of ${leaf} is not known at this step: go on to the end, and it predicts the move.`;
  $("nudged").replaceChildren(bar("predicted", nudge.predicted, "gradient"), bar("actual", nudge.actual, "ink"), made("p", words, {class: "faint"}));
}

// Each parameter (or each leaf, if none is a parameter) moves against its gradient.
function oneStep() {
  transport.pause();
  const {leaves, kinds, fixed, graph} = model, free = leaves.filter(i => !fixed[i]);
  const parameters = free.filter(i => kinds[i] === "p"), moving = parameters.length ? parameters : free;
  const {d} = model.steps, g = model.steps.gradients();
  remember("one step");
  lesson = {before: d[graph.root], all: !parameters.length, count: moving.length,
    rows: moving.slice(0, 6).map(i => ({node: i, from: model.numbers.get(i), grad: g[i], to: model.numbers.get(i) - rate * g[i]}))};
  for (const i of moving) model.numbers.set(i, model.numbers.get(i) - rate * g[i]);
  if (!descent.length) descent.push(d[graph.root]);
  recompute(false);
  lesson.after = model.steps.d[graph.root];
  descent.push(lesson.after);
  transport.goTo(model.steps.count - 1);
}

function showDescent() {
  $("descent").hidden = !lesson;
  if (!lesson) return;
  const result = model.name(model.graph.root);
  const head = made("p");
  head.append(`${result}: `, made("b", number(lesson.before)), " → ", made("b", number(lesson.after)),
    lesson.after < lesson.before ? " (smaller, as wanted)" : lesson.after > lesson.before ? " (larger: the learning rate is too large)" : "");
  const rows = made("table");
  for (const {node, from, grad, to} of lesson.rows) {
    const row = made("tr"), cell = made("td");
    cell.append(`${number(from)} − ${number(rate)} × `, made("span", inFormula(grad), {class: "gradient"}), " = ", made("b", number(to)));
    row.append(made("td", model.name(node)), cell);
    rows.append(row);
  }
  const more = lesson.count - lesson.rows.length;
  const who = lesson.all ? "No leaf is marked as a parameter, so all leaves move: " : "The parameters move: ";
  $("descent").replaceChildren(head, sparkline(descent), made("p", `${who}new = old − learning rate × gradient.`, {class: "faint"}), rows,
    made("p", more > 0 ? `and ${more} more` : "", {class: "faint"}));
}

// A small curve of the result after each step.
function sparkline(values) {
  const finite = values.filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite), span = high - low || 1;
  const x = k => 8 + 244 * k / Math.max(1, values.length - 1), y = v => 8 + 44 * (1 - (v - low) / span);
  const points = values.map((v, k) => [x(k), y(v)]).filter(([, v]) => Number.isFinite(v));
  const svg = svgElement("svg", {viewBox: "0 0 260 60", class: "curve", role: "img", "aria-label": `${values.length - 1} steps, from ${number(values[0])} to ${number(values[values.length - 1])}`});
  svg.append(svgElement("polyline", {points: points.map(p => p.map(round).join(",")).join(" ")}));
  for (const [cx, cy] of points.length < 40 ? points : points.slice(-1)) svg.append(svgElement("circle", {cx, cy, r: 3}));
  return svg;
}

// ---- 5. Mistakes

function makeSwitches() {
  for (const [key, {label}] of Object.entries(MISTAKES)) {
    const button = made("button", label, {"aria-pressed": "false", "data-mistake": key});
    button.addEventListener("click", () => {
      remember("mistake");
      mistake = mistake === key ? "" : key;
      victim = defaultVictim();
      recompute();
    });
    $("switches").append(button);
  }
  $("victim").addEventListener("change", () => { remember("victim"); victim = +$("victim").value; recompute(); });
  $("toExample").addEventListener("click", () => {
    remember("example");
    const kept = mistake;
    show(loaded(page.example));
    mistake = kept;
    victim = defaultVictim();
    recompute();
    transport.goTo(model.steps.count - 1);
  });
  $("toOwn").addEventListener("click", () => { remember("own"); mistake = ""; show(own); transport.goTo(0); });
}

// The last operation with a local derivative other than 1: there the mistake shows.
function defaultVictim() {
  const {graph, steps} = model;
  for (let i = graph.root; i >= 0; i--)
    if (graph.operands(i).some((o, k) => model.kinds[o] !== "c" && graph.localDerivative(i, k, steps.d) !== 1)) return i;
  return graph.root;
}

function showMistake() {
  for (const button of $("switches").children) button.setAttribute("aria-pressed", button.dataset.mistake === mistake);
  $("which").hidden = mistake !== "local";
  if (mistake === "local") {
    const some = model.graph.nodes.flatMap((_, i) => model.graph.isLeaf(i) ? [] : [i]).slice(-MOST_ROWS);
    if ($("victim").options.length !== some.length)
      $("victim").replaceChildren(...some.map(i => made("option", `${model.name(i)} (${model.graph.rules[model.graph.nodes[i][0]].sign})`, {value: i})));
    $("victim").value = victim;
  }
  $("why").hidden = !mistake;
  const right = mistake ? model.right.gradients() : null, played = mistake ? model.steps.gradients() : null;
  const wrong = mistake ? model.graph.nodes.flatMap((_, i) => model.kinds[i] !== "c" && differs(played[i], right[i]) ? [i] : []) : [];
  $("offer").hidden = !mistake || wrong.length > 0;
  $("comparison").hidden = !wrong.length;
  if (mistake) $("why").textContent = MISTAKES[mistake].why;
  model.wrong = wrong.map(i => [i, played[i], right[i]]);
}

// ---- 6. The drawer: what is shown at this step, in other forms

const panels = ["mistakes", "table", "transcript", "paths", "code"];
let panel = "";

function openPanel(name) {
  panel = panel === name ? "" : name;
  for (const id of panels) $(id).hidden = id !== panel;
  for (const tab of $("tabs").children) tab.setAttribute("aria-expanded", tab.getAttribute("aria-controls") === panel);
  showDrawer(transport.at(), model.steps.state(transport.at()));
}

function showDrawer(at, state) {
  const last = at === model.steps.count - 1;
  if (panel === "mistakes" && mistake && model.wrong.length) {
    const rows = model.wrong.slice(0, 12).map(([i, played, right]) => row(model.name(i), last ? number(played) : "·", last ? number(right) : "·"));
    $("comparison").querySelector("tbody").replaceChildren(...rows);
    if (!last) $("comparison").querySelector("tbody").append(row("(step to the end to see the numbers)"));
  }
  if (panel === "table") {
    const items = [...model.view.items.values()].filter(({box, node}) => box !== undefined || model.kinds[node] !== "c");
    $("table").querySelector("tbody").replaceChildren(...items.slice(0, MOST_ROWS).map(item => {
      const card = stage.picture.cards.get(item.name), {kind, full} = describe(item);
      const line = row(itemName(model, item), item.box !== undefined ? model.boxes[item.box].about : model.graph.isLeaf(item.node) ? kind : `= ${operationText(item.node)}`, card.data ?? "", card.grad ?? "");
      line.firstChild.title = full;
      line.classList.toggle("now", Boolean(card.now));
      return line;
    }));
  }
  if (panel === "transcript") writeTranscript(at);
  if (panel === "paths") showPaths(at);
  if (panel === "code") showCode(at, state);
}
const operationText = i => plain(formulaOf(model.graph, i, {stop: () => true, called: callName(model)}));
const row = (...cells) => {
  const line = made("tr");
  line.append(...cells.map(text => made("td", text)));
  return line;
};

// The steps so far (on paper all of them): later ones would give numbers away.
function writeTranscript(last) {
  const from = Math.max(0, last - MOST_ROWS), list = $("transcript").querySelector("ol");
  list.start = from;
  list.replaceChildren(...Array.from({length: last - from + 1}, (_, k) => {
    const hidden = asking && hiddenAt(from + k, told(model, from + k)).size;
    return made("li", hidden ? "?" : asText(model, from + k));
  }));
  const rest = model.steps.count - 1 - last;
  $("transcript").querySelector("p").textContent = rest ? `${rest} more step${rest === 1 ? "" : "s"} to come.` : "";
}

// The gradient of the chosen leaf as the sum over all paths to the result.
function showPaths(at) {
  const {graph, steps} = model, {d} = steps, place = $("paths").querySelector("div");
  if (picked < 0 || at < steps.count - 1) {
    place.replaceChildren(made("p", "Step to the end: then all local derivatives are known."));
    return;
  }
  const ways = new Float64Array(graph.nodes.length), {users} = model;
  ways[graph.root] = 1;
  for (let i = graph.root - 1; i >= picked; i--) ways[i] = users[i].reduce((sum, [user]) => sum + ways[user], 0);
  const count = ways[picked], head = `The gradient of ${model.name(picked)} is ${number(model.right.gradients()[picked])}, the sum over ${count < 2 ** 53 ? count.toLocaleString("en") : number(count)} path${count === 1 ? "" : "s"}`;
  if (count > 8) {
    place.replaceChildren(made("p", `${head}. Backpropagation adds them up without following each one.`));
    return;
  }
  const lines = [], paths = [{at: picked, names: model.name(picked), factors: []}];
  while (paths.length && lines.length < 9) {
    const path = paths.pop();
    if (path.at === graph.root) {
      const product = path.factors.reduce((a, b) => a * b, 1), short = path.names.length > 160 ? `${path.names.slice(0, 160)}…` : path.names;
      lines.push(made("li", `${short}: ${path.factors.length > 20 ? "…" : path.factors.map(inFormula).join(" × ") || "1"} = ${number(product)}`));
      continue;
    }
    for (const [user, k] of users[path.at].slice().reverse())
      paths.push({at: user, names: `${path.names} → ${model.name(user)}`, factors: [...path.factors, graph.localDerivative(user, k, d)]});
  }
  const list = made("ul");
  list.append(...lines);
  place.replaceChildren(made("p", `${head}:`), list);
}

// The closure that runs at this step, with the lines that run now, and the user's line.
function showCode(at, state) {
  const step = model.steps.list[at], item = model.view.items.get(step.item);
  const i = item?.box === undefined ? item?.node ?? -1 : -1;
  if (i < 0 || !["forward", "backward"].includes(step.phase)) {
    $("code").replaceChildren(made("p", "The code of an operation is shown at the steps that compute it and that run its closure.", {class: "faint"}));
    return;
  }
  const {op} = model.graph.rules[model.graph.nodes[i][0]], parts = [];
  if (model.lines[i]) parts.push(made("p", "Your line:"), made("pre", model.lines[i], {class: step.phase === "forward" ? "code running" : "code"}));
  const source = model.code[op];
  if (source) {
    const block = made("pre", "", {class: "code"});
    for (const line of source.split("\n"))
      block.append(made("span", `${line}\n`, step.phase === "backward" && /\.grad\b.*=/.test(line) ? {class: "running"} : {}));
    const upstream = step.phase === "backward" ? ` Now upstream = ${state.changes.length ? number(state.changes[0].upstream) : "·"}.` : "";
    parts.push(made("p", `Its closure, _backward, ${step.phase === "backward" ? "runs now" : "is kept for the backward pass"}.${upstream}`), block);
  }
  $("code").replaceChildren(...parts, made("p", parts.length ? "" : "The source of this operation was not found.", {class: "faint"}));
}

// The first number that is not finite. The page keeps computing; the engine would raise an error.
function showAlarm({d, g, known, seeded}) {
  const at = d.findIndex((x, i) => known[i] && !Number.isFinite(x)), back = g.findIndex((x, i) => seeded[i] && !Number.isFinite(x));
  $("alarm").hidden = at < 0 && back < 0;
  const [i, what, x] = at >= 0 ? [at, "", d[at]] : [back, "The gradient of ", back < 0 ? 0 : g[back]];
  const turned = [...model.initial].some(([leaf, start]) => !Object.is(model.numbers.get(leaf), start));
  if (i >= 0) $("alarm").textContent = `${what}${model.name(i)} is ${number(x)}: ${turned ? "turn a leaf back, or press Undo." : "it is not defined for these leaves."}`;
}

// ---- 7. Formula, legend, words

function showFormula() {
  const {graph, name} = model, isNamed = i => i in model.data.labels;
  const lines = [], write = (i, stop) => formulaOf(graph, i, {stop, called: callName(model), most: 18});
  if (!graph.isLeaf(graph.root)) {
    const large = graph.nodes.length > MOST_CARDS;
    lines.push([graph.root, write(graph.root, i => isNamed(i) && (large || model.users[i].length > 1))]);
    const named = graph.nodes.flatMap((_, i) => i < graph.root && !graph.isLeaf(i) && isNamed(i) ? [i] : []);
    if (!large && named.length && named.length <= 6) for (const i of named) lines.push([i, write(i, isNamed)]);
  }
  $("formula").replaceChildren(...lines.map(([i, pieces], k) => {
    const line = made(k ? "span" : "p", "", {class: k ? "part" : "whole"});
    written(line, [...nameInMath(name(i)), " = ", ...pieces]);
    return line;
  }));
  const leaf = picked < 0 ? model.leaves[0] : picked;
  $("sentence").replaceChildren();
  if (leaf === undefined) return;
  const [x, o] = [nameInMath(name(leaf)), nameInMath(name(graph.root))];
  $("sentence").append("The ", word("gradient"), " of ");
  written($("sentence"), [...x, " is how much ", ...o, " moves when ", ...x, " moves a little."]);
}

const word = text => made("dfn", text, {tabindex: "0", "data-word": text});

function makeLegend() {
  const shape = (kind, text) => {
    const item = made("span", "", {class: "key"}), icon = svgElement("svg", {viewBox: "0 0 26 16", class: "stage shape"}), group = svgElement("g", {class: kind});
    group.append(svgElement("rect", {class: "outline", x: 2, y: 2, width: 22, height: 12, rx: {input: 6, parameter: 1, constant: 6}[kind] ?? 3}));
    icon.append(group);
    item.append(icon, word(text));
    return item;
  };
  const colour = (className, text) => {
    const item = made("span", "", {class: `key ${className}`});
    item.append(word(text));
    return item;
  };
  $("legend").append(shape("input", "input"), shape("parameter", "parameter"), shape("operation", "operation"), shape("result", "result"), " ",
    colour("ink", "data"), colour("gradient", "gradient"), " ", colour("local", "local derivative"), " × ",
    colour("gradient", "upstream gradient"), " = ", colour("gradient pill", "contribution"));
}

// What a word means, where one points at it or reaches it with the Tab key.
function explainWords() {
  const tip = $("meaningOf");
  const tell = event => {
    const term = event.target.closest?.("dfn");
    tip.hidden = !term;
    if (!term) return;
    tip.textContent = MEANING[term.dataset.word];
    term.setAttribute("aria-describedby", "meaningOf");
    const place = term.getBoundingClientRect();
    tip.style.top = `${place.bottom + scrollY + 6}px`;
    tip.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
  };
  document.addEventListener("pointerover", tell);
  document.addEventListener("focusin", tell);
  document.addEventListener("keydown", event => { if (event.key === "Escape") tip.hidden = true; });
}

// ---- 8. Size, folding, address, pictures, tour

function resize() {
  const presenting = document.body.classList.contains("presenting"), width = document.documentElement.clientWidth;
  const most = presenting ? 2.2 : 1.25;
  const room = presenting ? innerHeight - $("meaning").offsetHeight - 70 : width < 700 ? .42 * innerHeight : Math.max(300, innerHeight - 375);
  const k = Math.max(LEAST, Math.min(most, (stage.size.width - 2 * MARGIN) / stage.layout.width));
  stage.svg.style.height = `${Math.round(Math.max(210, Math.min(room, stage.needs(k).height + (presenting ? 0 : 26))))}px`;
  stage.fit(most);
  if (stage.picture && !stage.fits()) {
    const first = stage.picture.focus.length ? stage.picture.focus : [[...stage.cards.keys()][0]];
    stage.lookAt(first);
  }
}

// Unfolds a box in place, and stays at the moment that is shown.
function fold(change) {
  const {steps} = model, at = transport.at(), phase = steps.list[at].phase;
  const before = steps.list.slice(0, at + 1).reduce((sum, {nodes}) => sum + nodes.length, 0);
  const boxes = new Set(open);
  change(boxes);
  if (model.levels.count(boxes) > 300) return;
  open = boxes;
  unfolded();
  showFolds();
  // the last step of the new list at which no more operations have run than now
  let same = 0;
  for (let k = 0, run = 0; k < model.steps.count; k++) {
    run += model.steps.list[k].nodes.length;
    if (run <= before && (phase === "end" || model.steps.list[k].phase !== "end")) same = k;
  }
  transport.goTo(same);
}

function showFolds() {
  const opened = [...open].filter(j => model.levels.around(j).every(k => open.has(k)));
  // the innermost ones first, and not more than a line of them
  opened.sort((a, b) => model.levels.depth[b] - model.levels.depth[a]);
  $("folds").replaceChildren(...opened.slice(0, 3).map(j => {
    const button = made("button", `Fold ${model.boxes[j].label}`, {class: "fold"});
    button.addEventListener("click", () => fold(boxes => boxes.delete(j)));
    return button;
  }));
  if (opened.length > 1) {
    const all = made("button", "Fold all", {class: "fold"});
    all.addEventListener("click", () => fold(boxes => boxes.clear()));
    $("folds").append(all);
  }
  $("unfold").hidden = ![...model.view.items.values()].some(item => item.box !== undefined);
}

// The state in the address, so that it can be sent: #step=7&v1=2.5&mistake=order
let pending = 0;
function keepAddress(at) {
  clearTimeout(pending);
  pending = setTimeout(() => {
    const state = new URLSearchParams();
    if (document.body.classList.contains("embedded")) state.set("embed", "");
    if (model !== own) state.set("example", "");
    state.set("step", at);
    for (const [i, x] of model.numbers) if (!Object.is(x, model.initial.get(i)) && state.size < 60) state.set(`v${i}`, x);
    if (mistake) state.set("mistake", mistake);
    if (mistake === "local") state.set("of", victim);
    if (rate !== page.learningRate) state.set("rate", rate);
    if (nudging) { state.set("nudge", $("delta").value); state.set("leaf", picked); }
    const usual = model.levels.opened(page.level, MOST_CARDS);
    if (open.size !== usual.size || [...open].some(j => !usual.has(j))) state.set("open", [...open].join("."));
    try { history.replaceState(null, "", `#${String(state).replace(/=(?=&|$)/g, "")}`); } catch { /* a frame without an address */ }
  }, 200);
}

function readAddress() {
  const state = new URLSearchParams(location.hash.slice(1));
  if (state.has("example")) show(loaded(page.example), false);
  for (const [key, text] of state) {
    const i = /^v(\d+)$/.test(key) ? +key.slice(1) : -1;
    if (model.initial.has(i) && !model.fixed[i] && Number.isFinite(+text)) model.numbers.set(i, +text);
  }
  if (+state.get("rate") > 0) rate = +state.get("rate");
  $("rate").value = rate;
  if (state.has("open")) open = new Set(state.get("open").split(".").filter(Boolean).map(Number).filter(j => model.boxes[j]));
  if (model.levels.count(open) > 300) open = model.levels.opened(page.level, MOST_CARDS);
  if (state.has("leaf") && model.leaves.includes(+state.get("leaf"))) picked = +state.get("leaf");
  if (state.has("nudge")) { nudging = true; $("delta").value = state.get("nudge"); }
  if (picked >= 0) $("leaf").value = picked;
  begun();
  if (Object.hasOwn(MISTAKES, state.get("mistake"))) {
    mistake = state.get("mistake");
    victim = model.graph.nodes[state.get("of")] ? +state.get("of") : defaultVictim();
    recompute(false);
  }
  return +state.get("step") || 0;
}

function save(name, blob) {
  const link = made("a", "", {download: name, href: URL.createObjectURL(blob)});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

function savePng() {
  const {text, width, height} = stage.file(), image = new Image();
  image.onload = () => {
    const scale = Math.min(2, 8000 / Math.max(width, height)), canvas = made("canvas");
    [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save("graph.png", blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

const TOUR = [
  ["meaning", () => "This is the computation as a formula. The question of this page: how much does the result move when one of the leaves moves a little? The answer is called the gradient of the leaf."],
  ["picture", () => "The same computation as a graph: leaves first, then one card for each operation, and the result last. A dot is a number that is not known yet."],
  ["transport", () => "Step forward: first each result is computed from its operands, towards the result."],
  ["now", () => "Then backwards. An operation takes the gradient of its output, multiplies it by its local derivative, and hands the product on to its operand. One walk gives the gradients of all leaves."],
  ["tools", () => "Try it: nudge a leaf and see whether the gradient predicted the move. And train: One step moves each parameter a little against its gradient."],
];
let stop = -1;

function showTour(at) {
  for (const [id] of TOUR) $(id).classList.remove("toured");
  stop = at < TOUR.length ? at : -1;
  $("tour").hidden = stop < 0;
  try { localStorage.setItem("micrograd toured", "yes"); } catch { /* not allowed in a frame */ }
  if (stop < 0) return;
  const [id, text] = TOUR[stop];
  $(id).classList.add("toured");
  $("tour").querySelector("p").textContent = text();
  $("tour").querySelector("span").textContent = `${stop + 1} of ${TOUR.length}`;
  $("tourNext").textContent = stop === TOUR.length - 1 ? "Done" : "Next";
}

function present(on) {
  document.body.classList.toggle("presenting", on);
  $("present").setAttribute("aria-pressed", on);
  stage.large = on;
  stage.draw(model.view, describe);
  stage.show({...stage.picture, travel: false});
  resize();
}

// ---- 9. Beginning

function show(data, finish = true) {
  model = data;
  open = model.levels.opened(page.level, MOST_CARDS);
  if (model.levels.count(open) > 400) open = model.levels.opened(null, MOST_CARDS);
  [descent, lesson, answered, shownAt] = [[], null, new Set(), -1];
  picked = model.leaves.find(i => !model.fixed[i] && model.kinds[i] === "p") ?? model.leaves.find(i => !model.fixed[i]) ?? -1;
  $("leaf").replaceChildren(...model.leaves.slice(0, 1000).map(i => made("option", model.name(i), {value: i})));
  if (picked >= 0) { $("leaf").value = picked; $("delta").value = unit(picked) / 10; }
  $("returning").hidden = model === own;
  $("stale").hidden = true;
  if (finish) begun();
}

// What a graph looks like at first.
function begun() {
  unfolded();
  showFormula();
  showFolds();
  const again = model.steps.d[model.graph.root], {result, exact} = model;
  const notes = [];
  if (result !== null && differs(again, result) && Math.abs(again - result) > 1e-9 * Math.max(1, Math.abs(result)))
    notes.push(`In Python the result is still ${number(result)}: a leaf has changed since then. This page computes from the leaves as they are now.`);
  if (exact) notes.push("Some numbers are exact fractions in Python; here they are rounded decimals.");
  $("stale").textContent = notes.join(" ");
  $("stale").hidden = !notes.length;
}

function begin() {
  $("live").hidden = false;
  if (/(^#|&)embed\b/.test(location.hash)) document.body.classList.add("embedded");
  makeLegend();
  makeSwitches();
  explainWords();
  stage = new Stage($("graph"), {
    map: $("map"), down: page.down,
    onTurn: turn, onPick: pick,
    onType: leaf => { pick(leaf); $("value").focus(); $("value").select(); },
    onUnfold: j => fold(boxes => boxes.add(j)),
  });
  transport = makeTransport({count: () => model.steps.count, pace: PACE, show: at => { $("verdict").hidden = true; showStep(at); }});
  own = loaded(page.graph);
  show(own, false);
  transport.goTo(readAddress());
  $("undo").disabled = true;

  for (const tab of $("tabs").children) tab.addEventListener("click", () => openPanel(tab.getAttribute("aria-controls")));
  const on = (id, action, event = "click") => $(id).addEventListener(event, action);
  on("leaf", () => pick(+$("leaf").value), "change");
  on("value", () => { if ($("value").value !== "") setLeaf(picked, +$("value").value); }, "input");
  on("value", event => {
    const steps = {ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
    if (!steps) return;
    event.preventDefault();
    turn(picked, steps);
    $("value").value = +model.numbers.get(picked).toPrecision(5);
  }, "keydown");
  on("value", showLeaf, "blur");
  on("less", () => turn(picked, -1));
  on("more", () => turn(picked, 1));
  on("nudge", () => { nudging = !nudging; showStep(transport.at()); });
  on("delta", () => { nudging = true; showStep(transport.at()); }, "input");
  on("rate", () => { if (+$("rate").value > 0) rate = +$("rate").value; }, "input");
  on("oneStep", oneStep);
  on("undo", undo);
  on("predict", () => {
    asking = !asking;
    answered.clear();
    $("predict").setAttribute("aria-pressed", asking);
    if (asking) transport.pause();
    if (asking && transport.at() === 0) transport.goTo(1);
    else showStep(transport.at());
  });
  on("smaller", () => stage.zoom(1 / 1.2));
  on("larger", () => stage.zoom(1.2));
  on("fit", () => stage.fit(document.body.classList.contains("presenting") ? 2.2 : 1.25));
  on("unfold", () => {
    const active = model.view.items.get(model.steps.list[transport.at()].item);
    const box = active?.box ?? [...model.view.items.values()].find(item => item.box !== undefined)?.box;
    if (box !== undefined) fold(boxes => boxes.add(box));
  });
  on("saveSvg", () => save("graph.svg", new Blob([stage.file().text], {type: "image/svg+xml"})));
  on("savePng", savePng);
  on("round", () => showTour(0));
  on("tourNext", () => showTour(stop + 1));
  on("tourEnd", () => showTour(TOUR.length));
  on("present", () => present(!document.body.classList.contains("presenting")));
  document.addEventListener("keydown", event => {
    if (event.key === "Escape" && document.body.classList.contains("presenting")) present(false);
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.matches("input")) { event.preventDefault(); undo(); }
  });
  addEventListener("beforeprint", () => { for (const id of panels) $(id).hidden = id !== "transcript"; writeTranscript(Math.min(model.steps.count - 1, 2000)); });
  addEventListener("afterprint", () => { for (const id of panels) $(id).hidden = id !== panel; });
  let width = $("frame").clientWidth;
  new ResizeObserver(() => {
    if (Math.abs($("frame").clientWidth - width) < 2) return;
    width = $("frame").clientWidth;
    stage.draw(model.view, describe);
    stage.show({...stage.picture, travel: false});
    resize();
  }).observe($("frame"));
  addEventListener("resize", resize);
  try { if (!localStorage.getItem("micrograd toured")) $("round").classList.add("main"); } catch { /* not allowed in a frame */ }
}
begin();
