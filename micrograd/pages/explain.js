// The stepping page: what is on it, and what happens when the reader does something.

const $ = id => document.getElementById(id);
const made = (tag, text = "", attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const page = JSON.parse($("data").textContent);
const MOST_CARDS = 40,
  MOST_ROWS = 200,
  MOST_LEAVES = 1000,
  PACE = 1600;

// ---- 1. The graph on display, and its state

let own = null; // the graph that Python recorded
let model = null; // the graph on display: that one, or the small example
let stage = null,
  transport = null;
let past = []; // what Undo goes back to
let open = new Set(),
  mistake = "",
  victim = -1,
  nudging = false,
  picked = -1,
  chosen = false, // whether the reader picked this leaf
  rate = page.learningRate;
let descent = []; // the results after each step down the gradient
let lesson = null; // what the last step down the gradient did
let asking = false,
  answered = new Set(); // predict: which numbers of which step have been found

function loaded(data) {
  const graph = new Graph(data);
  const names = namesOf(graph, data.labels, data.kinds),
    {name} = names;
  const fixed = new Uint8Array(graph.nodes.length); // leaves of user-defined operations
  for (let i = graph.root; i >= 0; i--)
    if (fixed[i] || !graph.isKnown(i)) for (const o of graph.operands(i)) fixed[o] = 1;
  const leaves = graph.nodes.flatMap((_, i) => (graph.isLeaf(i) && data.kinds[i] !== "c" ? [i] : []));
  // as a reader looks for them: inputs, then parameters, w2 before w10
  const natural = new Intl.Collator("en", {numeric: true});
  leaves.sort(
    (a, b) => data.kinds.charCodeAt(a) - data.kinds.charCodeAt(b) || natural.compare(name(a), name(b)),
  );
  const free = [...leaves].sort((a, b) => a - b).filter(i => !fixed[i]);
  const movable = leaves.filter(i => !fixed[i]),
    parameters = movable.filter(i => data.kinds[i] === "p");
  const first = free.find(i => data.kinds[i] === "p") ?? free[0] ?? -1;
  const users = graph.nodes.map(() => []); // of each node: [the node that uses it, as which operand]
  graph.nodes.forEach((node, i) => {
    for (let k = 1; k < node.length; k++) users[node[k]].push([i, k - 1]);
  });
  return {
    ...data,
    data,
    graph,
    ...names,
    fixed,
    leaves,
    first,
    moving: parameters.length ? parameters : movable, // what a step of training moves
    allMove: !parameters.length && movable.length > 0,
    users,
    levels: new Levels(graph, data.boxes, data.boxOf),
    initial: new Map(graph.leaves),
    numbers: new Map(graph.leaves),
  };
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
    const {label, about} = boxes[item.box],
      one = item.outputs.length === 1;
    return {
      kind: "box",
      title: label,
      full: label,
      about: about
        .split(" · ")
        .reduce((lines, part, k) => (k === 1 ? [`${lines[0]}, ${part}`] : [...lines, part]), []),
      data: one,
    };
  }
  const i = item.node,
    kind = {i: "input", p: "parameter", c: "constant", o: "operation", r: "result"}[kinds[i]];
  const sign = graph.isLeaf(i) ? "" : graph.rules[graph.nodes[i][0]].sign;
  return {
    kind,
    title: model.name(i),
    full: model.paths[i] ?? model.name(i),
    sign,
    fixed: Boolean(model.fixed[i]),
  };
}

// What Undo restores.
function remember(what) {
  const last = past[past.length - 1];
  if (last?.what === what && what.startsWith("turn")) return; // one turn of a knob, many small moves
  past.push({
    what,
    model,
    numbers: new Map(model.numbers),
    mistake,
    victim,
    descent: descent.slice(),
    lesson,
  });
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

const PHASES = {
  start: "{{phase.start}}", forward: "{{phase.forward}}", seed: "{{phase.backward}}",
  backward: "{{phase.backward}}", end: "{{phase.end}}",
};
let shownAt = -1;

function showStep(at) {
  const now = told(model, at),
    {step, state} = now;
  const backward = at >= model.steps.seedAt,
    hidden = hiddenAt(at, now);
  document.body.classList.toggle("backward", backward);
  $("phase").textContent = PHASES[step.phase];
  withButtons($("sentenceNow"), now.sentence);
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
  if (transport && !transport.isPlaying())
    $("spoken").textContent = hidden.size ? now.sentence : asText(model, at, now);
  const place = {at, last: model.steps.count - 1, sentence: now.sentence};
  $("slider").setAttribute("aria-valuetext", filled("{{step.spoken}}", place));
  keepAddress(at);
}

function pictureOf(at, {step, state, chains}, hidden) {
  const {steps, view, kinds} = model,
    {d, g, known, seeded, done} = state;
  const backward = at >= steps.seedAt,
    cards = new Map();
  const changed = new Set(state.changes.map(({node}) => node));
  const finished = at === steps.count - 1,
    wrong = finished && mistake ? model.right.gradients() : null;
  const change = changeAt(at, state),
    isChanged = i => change && known[i] && number(change.from[i]) !== number(change.to[i]);
  const gradOf = i => (hidden.has(i) && backward ? "?" : seeded[i] ? number(g[i]) : "·");
  const dataOf = i => (hidden.has(i) && !backward ? "?" : known[i] ? number(d[i]) : "·");
  for (const item of view.items.values()) {
    const i = item.box === undefined ? item.node : item.outputs.length === 1 ? item.outputs[0] : -1;
    const later = !item.nodes.every(n => known[n]);
    const card = {
      // not computed yet
      later:
        item.box === undefined
          ? !known[i]
          : later && !item.nodes.some(n => known[n] && !model.graph.isLeaf(n)),
    };
    if (i >= 0)
      Object.assign(card, {
        data: isChanged(i) ? number(change.to[i]) : dataOf(i),
        before: isChanged(i) ? number(change.from[i]) : "",
        grad: gradOf(i),
        number: d[i],
        fresh: changed.has(i) ? (backward ? "grad" : "data") : "",
        wrong: wrong !== null && differs(g[i], wrong[i]),
      });
    card.now = step.item === item.name;
    card.given = backward && item.nodes.some(n => done[n]);
    card.picked = item.box === undefined && i === picked && (chosen || nudging);
    const name = itemName(model, item);
    card.spoken =
      item.box === undefined
        ? filled(kinds[i] === "c" ? "{{card.constant}}" : "{{card.spoken}}", {
            name,
            kind: WORDS[describe(item).kind],
            data: dataOf(i),
            gradient: gradOf(i),
          })
        : filled("{{card.unfold}}", {name});
    cards.set(item.name, card);
  }
  const arrows = view.arrows.map(arrow => {
    const givers = arrow.edges.map(([giver]) => giver),
      now = step.item === arrow.to && ["forward", "backward"].includes(step.phase);
    const onto = arrow.edges.map(([giver, k]) => model.graph.nodes[giver][k + 1]);
    return {
      now: now && !(backward && kinds[onto[0]] === "c"),
      passed: backward && givers.some(i => done[i]),
      later: !backward && !onto.every(i => known[i]),
      label: now && backward ? arrowLabel(arrow, onto, chains, hidden, chains.length > 8) : null,
    };
  });
  addBadge(at, state, cards);
  const active = view.items.get(step.item);
  const focus = active
    ? [active.name, ...view.arrows.filter(a => a.to === active.name).map(a => a.from)]
    : [];
  const finishedFocus = step.phase === "end" || step.phase === "start" ? [] : focus;
  return {
    backward,
    cards,
    arrows,
    focus: finishedFocus,
    travel: at === shownAt + 1 && active && step.phase !== "seed",
    duration: Math.min(700, (PACE / +$("speed").value) * 0.6),
  };
}

const differs = (a, b) => !Object.is(a, b) && !(Math.abs(a - b) <= 1e-12 * Math.max(1e-300, Math.abs(b)));

function arrowLabel(arrow, onto, chains, hidden, crowded) {
  const nodes = new Set(onto.filter(i => model.kinds[i] !== "c"));
  if (!nodes.size) return null;
  if (nodes.size > 1)
    return crowded ? null : {text: filled("{{arrow.gradients}}", {n: nodes.size.toLocaleString("en")})};
  const [[giver, k]] = arrow.edges,
    [node] = nodes;
  const chain = chains.find(c => (c.edge < 0 ? c.node === node : c.giver === giver && c.edge === k));
  if (!chain) return null;
  if (hidden.has(chain.node)) return {text: "?"};
  if (chain.giver < 0 || chain.explained === false) return {text: number(chain.share)};
  return {
    local: inFormula(chain.local),
    upstream: inFormula(chain.upstream),
    share: number(chain.share),
    use: chain.use,
    isFirst: chain.isFirst,
  };
}

function showEquation(now, hidden) {
  const equation = now.equation;
  $("equation").replaceChildren();
  if (!equation) return;
  const parts = [
    model.inMath(equation.node),
    equation.names,
    equation.numbers,
    [hidden.size ? "?" : equation.result],
  ].filter((part, k, all) => !k || plain(part) !== plain(all[k - 1]));
  parts.forEach((part, k) => {
    if (k) $("equation").append(" = ");
    $("equation").append(written(made(k === parts.length - 1 ? "b" : "span"), part));
  });
}

// The text, with the names of buttons drawn as buttons.
function withButtons(place, text) {
  const names = ["{{button.forward.title}}", "{{button.step}}", "{{button.nudge}}", "{{button.undo}}"];
  const parts = text.split(RegExp(`(${names.join("|").replace(/[.*+?()[\]]/g, "\\$&")})`));
  place.replaceChildren(...parts.map((part, k) => (k % 2 ? made("kbd", part) : part)));
  return place;
}

// The chain rule for each operand: three numbers in their colours, each above what it is called.
function showChains({step, chains, state}, hidden) {
  $("chains").replaceChildren();
  const factor = (className, text, names, term) => {
    const cell = made("span", "", {class: `factor ${className}`});
    cell.append(made("b", text), written(made("small"), names));
    if (term) cell.append(word(term));
    return cell;
  };
  const after = i => ["∂", ...model.inMath(i, PRODUCT + 1)];
  const rate = (of, by) => [...after(of), " / ", ...after(by)];
  const {root} = model.graph;
  const most = chains[0]?.giver < 0 ? 3 : 6;
  const isTold = chain => chain.giver >= 0 && chain.explained !== false;
  const first = chains.find(isTold); // only its factors are named: the others are below it
  for (const chain of chains.slice(0, most)) {
    const row = made("div", "", {class: "chain"}),
      secret = hidden.has(chain.node);
    const head = made("span", "", {class: "to"});
    head.append(
      made("small", "{{chain.to}}"),
      written(made("b"), model.inMath(chain.node)),
      chain.use ? made("small", ` ${chain.use}`) : "",
    );
    row.append(head);
    if (isTold(chain)) {
      const rule = chain.edge < 0 || secret ? [] : localRule(model, chain),
        names = rate(chain.giver, chain.node);
      row.append(
        factor(
          "local",
          secret ? "?" : number(chain.local),
          rule.length ? [...names, " = ", ...rule] : names,
          chain === first && "local",
        ),
        made("span", "×", {class: "sign"}),
        factor("gradient", number(chain.upstream), rate(root, chain.giver), chain === first && "upstream"),
        made("span", "=", {class: "sign"}),
      );
    }
    row.append(
      factor("share", secret ? "?" : number(chain.share), [], chain === (first ?? chains[0]) && "share"),
    );
    if (!secret) row.append(made("span", sumOf(model, chain, state), {class: "sum"}));
    $("chains").append(row);
  }
  const note = text => $("chains").append(withButtons(made("p", "", {class: "note"}), text));
  if (chains.length > most) note(filled("{{list.rest}}", {n: chains.length - most}));
  if (step.phase === "seed" && !step.pass) note(whyBackwards(model));
  if (step === model.steps.list[model.steps.seedAt + 2] && first && !mistake && !hidden.size)
    note(whyMultiplied(model, first));
  if (step.phase === "end" && !lesson) note(whatFor(model));
}

// ---- 3. Size and folding

function resize() {
  const presenting = document.body.classList.contains("presenting"),
    width = document.documentElement.clientWidth;
  const most = presenting ? 2.2 : 1.25;
  const room = presenting
    ? innerHeight - $("meaning").offsetHeight - 70
    : width < 700
      ? 0.42 * innerHeight
      : Math.max(332, innerHeight - $("meaning").offsetHeight - 372); // what happens now stays in sight
  const {width: wide, height: high} = stage.layout;
  const k = Math.max(
    LEAST,
    Math.min(most, (stage.size.width - 2 * MARGIN) / wide, (room - 2 * MARGIN) / high),
  );
  const needed = stage.needs(k).height + (presenting ? 0 : 26);  // room for notes below the cards
  stage.svg.style.height = `${Math.round(Math.max(210, Math.min(room, needed)))}px`;
  stage.fit(most);
  const focus = stage.picture?.focus ?? [];
  if (!stage.fits()) stage.lookAt(focus.length ? focus : [stage.cards.keys().next().value]);
}

// Unfolds a box in place, and stays at the moment that is shown.
function fold(change) {
  const {steps} = model,
    at = transport.at(),
    phase = steps.list[at].phase;
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
  $("folds").replaceChildren(
    ...opened.slice(0, 3).map(j => {
      const button = made("button", filled("{{fold.one}}", {name: model.boxes[j].label}), {class: "fold"});
      button.addEventListener("click", () => fold(boxes => boxes.delete(j)));
      return button;
    }),
  );
  if (opened.length > 1) {
    const all = made("button", "{{fold.all}}", {class: "fold"});
    all.addEventListener("click", () => fold(boxes => boxes.clear()));
    $("folds").append(all);
  }
  $("unfold").hidden = ![...model.view.items.values()].some(item => item.box !== undefined);
}

function present(on) {
  document.body.classList.toggle("presenting", on);
  $("present").setAttribute("aria-pressed", on);
  stage.large = on;
  stage.draw(model.view, describe);
  stage.show({...stage.picture, travel: false});
  resize();
}

// ---- 4. Beginning

function show(data, finish = true) {
  model = data;
  useFractions(model.fractions);
  open = model.levels.opened(page.level, MOST_CARDS);
  if (model.levels.count(open) > 400) open = model.levels.opened(null, MOST_CARDS);
  [descent, lesson, answered, shownAt] = [[], null, new Set(), -1];
  picked = model.first;
  chosen = false;
  $("leaf").replaceChildren(...model.leaves.slice(0, MOST_LEAVES).map(leafOption));
  if (picked >= 0) {
    choose(picked);
    $("delta").value = unit(picked) / 10;
  }
  $("oneStep").title = filled("{{explain.step.title}}", {leaf: movingKind(model)});
  $("moves").hidden = !model.allMove;
  withButtons($("moves"), filled("{{step.all}}", {leaves: firstFew(model.moving.map(model.name), 8)}));
  $("returning").hidden = model === own;
  $("stale").hidden = true;
  if (finish) begun();
}

// What a graph looks like at first.
function begun() {
  unfolded();
  showFormula();
  showFolds();
  resize(); // now that the height of the formula is known
  const again = model.steps.d[model.graph.root],
    {result} = model;
  const notes = [];
  if (
    result !== null &&
    differs(again, result) &&
    Math.abs(again - result) > 1e-9 * Math.max(1, Math.abs(result))
  )
    notes.push(filled("{{stale.leaf}}", {result: number(result)}));
  if (model.fractions.length) notes.push("{{stale.fractions}}");
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
    map: $("map"),
    isDown: () => page.down || $("frame").clientWidth < 500, // on a phone the arrows go down
    onTurn: turn,
    onPick: pick,
    onType: leaf => {
      pick(leaf);
      $("value").focus();
      $("value").select();
    },
    onUnfold: j => fold(boxes => boxes.add(j)),
  });
  transport = makeTransport({
    count: () => model.steps.count,
    pace: PACE,
    show: at => {
      $("verdict").hidden = true;
      showStep(at);
    },
  });
  own = loaded(page.graph);
  show(own, false);
  transport.goTo(readAddress());
  $("undo").disabled = true;

  for (const tab of $("tabs").children)
    tab.addEventListener("click", () => openPanel(tab.getAttribute("aria-controls")));
  const on = (id, action, event = "click") => $(id).addEventListener(event, action);
  on("leaf", () => pick(+$("leaf").value), "change");
  on(
    "value",
    () => {
      if ($("value").value !== "") setLeaf(picked, +$("value").value);
    },
    "input",
  );
  on(
    "value",
    event => {
      const steps = {ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
      if (!steps) return;
      event.preventDefault();
      turn(picked, steps);
      $("value").value = +model.numbers.get(picked).toPrecision(5);
    },
    "keydown",
  );
  on("value", showLeaf, "blur");
  on("less", () => turn(picked, -1));
  on("more", () => turn(picked, 1));
  const setNudging = isOn => {
    nudging = isOn;
    if (isOn) lesson = null; // one experiment at a time
    showStep(transport.at());
  };
  on("nudge", () => setNudging(!nudging));
  on("delta", () => setNudging(true), "input");
  on(
    "rate",
    () => {
      if (+$("rate").value > 0) rate = +$("rate").value;
    },
    "input",
  );
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
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.matches("input")) {
      event.preventDefault();
      undo();
    }
  });
  addEventListener("beforeprint", () => {
    for (const id of panels) $(id).hidden = id !== "transcript";
    writeTranscript(Math.min(model.steps.count - 1, 2000));
  });
  addEventListener("afterprint", () => {
    for (const id of panels) $(id).hidden = id !== panel;
  });
  let width = $("frame").clientWidth;
  new ResizeObserver(() => {
    if (Math.abs($("frame").clientWidth - width) < 2) return;
    width = $("frame").clientWidth;
    stage.draw(model.view, describe);
    stage.show({...stage.picture, travel: false});
    resize();
  }).observe($("frame"));
  addEventListener("resize", resize);
  try {
    if (!localStorage.getItem("micrograd toured")) $("round").classList.add("main");
  } catch {/* not allowed in a frame */}
}
begin();
