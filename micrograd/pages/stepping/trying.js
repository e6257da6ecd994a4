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
      text: filled("{{ask.gradient}}", {name: model.name(node)}),
      value: state.g[node],
    }));
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
    const [above, below = 1] = $("answer").value.replace("−", "-").replace(",", ".").split("/").map(Number);
    const typed = above / below;
    if ($("answer").value.trim() === "" || Number.isNaN(typed)) return verdict(false, "{{ask.number}}");
    const {value} = question,
      close = Math.abs(typed - value) <= Math.max(0.01 * Math.abs(value), 1e-12);
    if (close || number(typed) === number(value)) finish(true, filled("{{ask.right}}", {x: number(value)}));
    else verdict(false, now.step.phase === "forward" ? "{{ask.forward}}" : "{{ask.backward}}");
  };
  $("tell").onclick = () => finish(true, filled("{{ask.told}}", {x: number(question.value)}));
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
  $("value").title = fixed ? "{{leaf.fixed}}" : "{{leaf.turn}}";
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
  const line = (word, className, move) => [["plain", `${word} `], [className, signed(move)]];
  card.badge = [
    line("{{nudge.grad}}", "gradient", nudge.predicted),
    line("{{nudge.moved}}", "plain", nudge.actual),
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
  const words = filled(nudge.complete ? "{{nudge.says}}" : "{{nudge.unknown}}", {
    leaf,
    result,
    move: signed(nudge.delta),
    gradient: number(state.g[picked]),
    size: inFormula(nudge.delta),
  });
  const isRight = number(nudge.predicted) === number(nudge.actual);
  const verdict = nudge.complete ? ` ${isRight ? "{{nudge.does}}" : "{{nudge.nearly}}"}` : "";
  $("nudged").replaceChildren(
    bar("{{nudge.predicted}}", nudge.predicted, "gradient"),
    bar("{{nudge.actual}}", nudge.actual, "ink"),
    made("p", words + verdict),
  );
}

// Each parameter (or each leaf, if none is a parameter) moves against its gradient.
function oneStep() {
  transport.pause();
  const {graph, moving} = model;
  const {d} = model.steps,
    g = model.steps.gradients();
  remember("one step");
  nudging = false;
  lesson = {
    d,
    before: d[graph.root],
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
    ".",
    lesson.after < lesson.before ? " {{step.smaller}}" : "",
    lesson.after > lesson.before ? " {{step.larger}}" : "",
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
      grad ? "" : ": {{step.stays}}",
    );
    row.append(made("td", model.name(node)), cell);
    rows.append(row);
  }
  const more = lesson.count - lesson.rows.length,
    hasInputs = !model.allMove && model.kinds.includes("i");
  $("descent").replaceChildren(
    head,
    rows,
    made("p", more > 0 ? filled("{{list.rest}}", {n: more.toLocaleString("en")}) : "", {class: "faint"}),
    made(
      "p",
      "{{step.rule}}" +
        (hasInputs ? " {{step.inputs}}" : ""),
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
    "aria-label": filled("{{step.curve}}", {
      n: values.length - 1,
      first: number(values[0]),
      last: number(values.at(-1)),
    }),
  });
  svg.append(svgElement("polyline", {points: points.map(p => p.map(round).join(",")).join(" ")}));
  for (const [cx, cy] of points.length < 40 ? points : points.slice(-1))
    svg.append(svgElement("circle", {cx, cy, r: 3}));
  return svg;
}
