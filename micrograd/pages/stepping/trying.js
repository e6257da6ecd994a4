// What the reader tries: predict a number, turn and nudge a leaf, take a step down the gradient.
// (The state of the page and its model are those of explain.js.)

// ---- 1. Predict: the numbers of a step stay hidden until they have been typed

function questions(at, {step, state, chains}) {
  if (step.phase === "forward" && state.changes.length) {
    const item = model.view.items.get(step.item),
      nodes = item.outputs.length === 1 ? item.outputs : [];
    return nodes.map(i => ({node: i, text: `${model.name(i)} = `, value: state.d[i]}));
  }
  const seen = new Set();
  return chains
    .filter(({node}) => !seen.has(node) && seen.add(node))
    .slice(0, 4)
    .map(({node}) => ({
      node,
      text: `gradient of ${model.name(node)} after this step = `,
      value: state.g[node],
    }));
}

function hiddenAt(at, now) {
  if (!asking) return new Set();
  return new Set(
    questions(at, now)
      .map(({node}) => node)
      .filter(node => !answered.has(`${at}/${node}`)),
  );
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
    const [above, below = 1] = $("answer").value.replace("−", "-").replace(",", ".").split("/").map(Number);
    const typed = above / below;
    if ($("answer").value.trim() === "" || Number.isNaN(typed)) return verdict(false, "Type a number.");
    const {value} = question,
      close = Math.abs(typed - value) <= Math.max(0.01 * Math.abs(value), 1e-12);
    if (close || number(typed) === number(value)) finish(true, `Right: ${number(value)}.`);
    else
      verdict(
        false,
        now.step.phase === "forward"
          ? "Not yet. Put the numbers of the operands into the formula."
          : "Not yet. Local derivative × upstream gradient, added to what is there already.",
      );
  };
  $("tell").onclick = () => finish(true, `It is ${number(question.value)}.`);
}

function verdict(right, text) {
  $("verdict").hidden = false;
  $("verdict").className = right ? "good" : "wrong";
  $("verdict").textContent = `${right ? "✓" : "✗"} ${text}`;
}

// ---- 2. Leaves: knobs, nudge, one step down

// The size of one turn: about a hundredth of a typical size of the leaf.
function unit(leaf) {
  const size = Math.abs(model.initial.get(leaf));
  return (
    10 ** (Math.floor(Math.log10((size > 0.1 && size < 1) || !size || !isFinite(size) ? 1 : size)) - 1)
  );
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

const leafOption = leaf => made("option", model.name(leaf), {value: leaf});

// Selects the leaf in the list, which is too short for all leaves of a large graph.
function choose(leaf) {
  if (![...$("leaf").options].some(({value}) => +value === leaf)) $("leaf").append(leafOption(leaf));
  $("leaf").value = leaf;
}

function pick(leaf) {
  picked = leaf;
  chosen = true;
  choose(leaf);
  $("delta").value = unit(leaf) / 10;
  showStep(transport.at());
}

function showLeaf() {
  const value = model.numbers.get(picked);
  const fixed = picked < 0 || model.fixed[picked];
  for (const id of ["value", "less", "more", "nudge"]) $(id).disabled = Boolean(fixed);
  $("value").title = fixed
    ? "This leaf leads to a user-defined operation, which the page cannot run again"
    : "↑ and ↓ turn it";
  if (document.activeElement !== $("value"))
    $("value").value = value === undefined ? "" : +value.toPrecision(4);
}

// The move of the result that the gradient predicts, beside the actual one.
function nudgeAt(at, state) {
  const delta = +$("delta").value,
    {graph, steps} = model;
  if (!nudging || picked < 0 || !delta) return null;
  const complete = at >= steps.seedAt && state.seeded[picked] && !waiting(model, picked, state);
  const to = graph.forward(new Map(model.numbers).set(picked, model.numbers.get(picked) + delta));
  return {
    delta,
    leaf: picked,
    to,
    predicted: complete ? state.g[picked] * delta : NaN,
    actual: state.known[graph.root] ? to[graph.root] - steps.d[graph.root] : NaN,
    complete,
  };
}
const signed = x => (Number.isNaN(x) ? "·" : x > 0 ? `+${number(x)}` : number(x));

// The data of all nodes before and after the nudge or the last step down the gradient, or null.
function changeAt(at, state) {
  const nudge = nudgeAt(at, state),
    {d, count} = model.steps;
  if (nudge) return {from: d, to: nudge.to};
  return lesson && at === count - 1 ? {from: lesson.d, to: d} : null;
}

function addBadge(at, state, cards) {
  const nudge = nudgeAt(at, state),
    card = cards.get(model.view.itemOf[model.graph.root]);
  if (!nudge || !card) return;
  const line = (word, className, move) => [
    ["plain", `${word} `],
    [className, signed(move)],
  ];
  card.badge = [
    line("grad × Δ:", "gradient", nudge.predicted),
    line("actual:", "plain", nudge.actual),
  ];
}

function showNudge(at, state) {
  const nudge = nudgeAt(at, state),
    leaf = picked < 0 ? "" : model.name(picked),
    result = model.name(model.graph.root);
  $("nudge").setAttribute("aria-pressed", nudging);
  $("nudged").hidden = !nudge;
  if (!nudge) return;
  const longest = Math.max(Math.abs(nudge.predicted) || 0, Math.abs(nudge.actual) || 0) || 1;
  const bar = (word, value, className) => {
    const row = made("div", "", {class: "bar"}),
      line = made("i", "", {class: className});
    line.style.width = `${(100 * (Math.abs(value) || 0)) / longest}%`;
    const track = made("span", "", {class: "track"});
    track.append(line);
    row.append(made("span", word), track, made("b", signed(value), {class: className}));
    return row;
  };
  const words = nudge.complete
    ? `${leaf} moves by ${signed(nudge.delta)}, so ${result} should move by ${number(state.g[picked])} × ` +
      `${inFormula(nudge.delta)}. ` +
      (number(nudge.predicted) === number(nudge.actual)
        ? "It does."
        : "It nearly does: its curve bends, and the smaller Δ is, the less that matters.")
    : `The gradient of ${leaf} is not known at this step: go on to the end.`;
  $("nudged").replaceChildren(
    bar("gradient × Δ", nudge.predicted, "gradient"),
    bar("actual move", nudge.actual, "ink"),
    made("p", words),
  );
}

// Each parameter (or each leaf, if none is a parameter) moves against its gradient.
function oneStep() {
  transport.pause();
  const {leaves, kinds, fixed, graph} = model,
    free = leaves.filter(i => !fixed[i]);
  const parameters = free.filter(i => kinds[i] === "p"),
    moving = parameters.length ? parameters : free;
  const {d} = model.steps,
    g = model.steps.gradients();
  remember("one step");
  nudging = false;
  lesson = {
    d,
    before: d[graph.root],
    all: !parameters.length,
    count: moving.length,
    rows: moving
      .slice(0, 6)
      .map(i => ({
        node: i,
        from: model.numbers.get(i),
        grad: g[i],
        to: model.numbers.get(i) - rate * g[i],
      })),
  };
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
  head.append(
    `${result}: `,
    made("b", number(lesson.before)),
    " → ",
    made("b", number(lesson.after)),
    lesson.after < lesson.before
      ? ". It is smaller: training repeats this."
      : lesson.after > lesson.before
        ? ". It grew: the learning rate is too large."
        : ".",
  );
  const rows = made("table");
  for (const {node, from, grad, to} of lesson.rows) {
    const row = made("tr"),
      cell = made("td");
    cell.append(
      `${number(from)} − ${number(rate)} × `,
      made("span", inFormula(grad), {class: "gradient"}),
      " = ",
      made("b", number(to)),
      grad ? "" : ": it stays, because its gradient is 0",
    );
    row.append(made("td", model.name(node)), cell);
    rows.append(row);
  }
  const more = lesson.count - lesson.rows.length,
    hasInputs = !lesson.all && model.kinds.includes("i");
  $("descent").replaceChildren(
    head,
    rows,
    made("p", more > 0 ? `and ${more.toLocaleString("en")} more` : "", {class: "faint"}),
    made(
      "p",
      "New = old − learning rate × gradient. Then all gradients are computed again." +
        (lesson.all ? " No leaf is marked as a parameter, so all of them move." : "") +
        (hasInputs ? " Inputs stay: they are given." : ""),
    ),
    descent.length > 2 ? sparkline(descent) : "",
  );
}

// A small curve of the result after each step.
function sparkline(values) {
  const finite = values.filter(Number.isFinite),
    low = Math.min(...finite),
    high = Math.max(...finite),
    span = high - low || 1;
  const x = k => 8 + (244 * k) / Math.max(1, values.length - 1),
    y = v => 8 + 44 * (1 - (v - low) / span);
  const points = values.map((v, k) => [x(k), y(v)]).filter(([, v]) => Number.isFinite(v));
  const svg = svgElement("svg", {
    viewBox: "0 0 260 60",
    class: "curve",
    role: "img",
    "aria-label": `${values.length - 1} steps, from ${number(values[0])} to ` +
      `${number(values[values.length - 1])}`,
  });
  svg.append(svgElement("polyline", {points: points.map(p => p.map(round).join(",")).join(" ")}));
  for (const [cx, cy] of points.length < 40 ? points : points.slice(-1))
    svg.append(svgElement("circle", {cx, cy, r: 3}));
  return svg;
}
