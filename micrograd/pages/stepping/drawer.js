// The drawer: mistakes, and the moment that is shown in other forms: a table, text, paths, code.
// (The state of the page and its model are those of explain.js.)

// ---- 1. Mistakes

// Those that steps.js can make.
const MISTAKES = {
  assign: {label: "{{mistake.assign}}", why: "{{mistake.assign.why}}"},
  order: {label: "{{mistake.order}}", why: "{{mistake.order.why}}"},
  twice: {label: "{{mistake.twice}}", why: "{{mistake.twice.why}}"},
  local: {label: "{{mistake.local}}", why: "{{mistake.local.why}}"},
};

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
  $("victim").addEventListener("change", () => {
    remember("victim");
    victim = +$("victim").value;
    recompute();
  });
  $("toExample").addEventListener("click", () => {
    remember("example");
    const kept = mistake;
    show(loaded(page.example));
    mistake = kept;
    victim = defaultVictim();
    recompute();
    transport.goTo(model.steps.count - 1);
  });
  $("toOwn").addEventListener("click", () => {
    remember("own");
    mistake = "";
    show(own);
    transport.goTo(0);
  });
}

// The last operation with a local derivative other than 1: there the mistake shows.
function defaultVictim() {
  const {graph, steps} = model;
  for (let i = graph.root; i >= 0; i--)
    if (
      graph.operands(i).some((o, k) => model.kinds[o] !== "c" && graph.localDerivative(i, k, steps.d) !== 1)
    )
      return i;
  return graph.root;
}

function showMistake() {
  for (const button of $("switches").children)
    button.setAttribute("aria-pressed", button.dataset.mistake === mistake);
  $("which").hidden = mistake !== "local";
  if (mistake === "local") {
    const some = model.graph.nodes.flatMap((_, i) => (model.graph.isLeaf(i) ? [] : [i])).slice(-MOST_ROWS);
    if ($("victim").options.length !== some.length)
      $("victim").replaceChildren(
        ...some.map(i =>
          made("option", `${model.name(i)} (${model.graph.rules[model.graph.nodes[i][0]].sign})`, {
            value: i,
          }),
        ),
      );
    $("victim").value = victim;
  }
  $("why").hidden = !mistake;
  const right = mistake ? model.right.gradients() : null,
    played = mistake ? model.steps.gradients() : null;
  const wrong = mistake
    ? model.graph.nodes.flatMap((_, i) =>
        model.kinds[i] !== "c" && differs(played[i], right[i]) ? [i] : [],
      )
    : [];
  $("offer").hidden = !mistake || wrong.length > 0;
  $("comparison").hidden = !wrong.length;
  if (mistake) $("why").textContent = MISTAKES[mistake].why;
  model.wrong = wrong.map(i => [i, played[i], right[i]]);
}

// ---- 2. The moment in other forms

const panels = ["mistakes", "table", "transcript", "paths", "code"];
let panel = "";

function openPanel(name) {
  panel = panel === name ? "" : name;
  for (const id of panels) $(id).hidden = id !== panel;
  for (const tab of $("tabs").children)
    tab.setAttribute("aria-expanded", tab.getAttribute("aria-controls") === panel);
  showDrawer(transport.at(), model.steps.state(transport.at()));
}

function showDrawer(at, state) {
  const last = at === model.steps.count - 1;
  if (panel === "mistakes" && mistake && model.wrong.length) {
    const rows = model.wrong
      .slice(0, 12)
      .map(([i, played, right]) =>
        row(model.name(i), last ? number(played) : "·", last ? number(right) : "·"),
      );
    $("comparison")
      .querySelector("tbody")
      .replaceChildren(...rows);
    if (!last) $("comparison").querySelector("tbody").append(row("{{mistakes.later}}"));
  }
  if (panel === "table") {
    const items = [...model.view.items.values()].filter(
      ({box, node}) => box !== undefined || model.kinds[node] !== "c",
    );
    $("table")
      .querySelector("tbody")
      .replaceChildren(
        ...items.slice(0, MOST_ROWS).map(item => {
          const card = stage.picture.cards.get(item.name),
            {kind, full} = describe(item);
          const line = row(
            itemName(model, item),
            item.box !== undefined
              ? model.boxes[item.box].about
              : model.graph.isLeaf(item.node)
                ? WORDS[kind]
                : `= ${operationText(item.node)}`,
            card.data ?? "",
            card.grad ?? "",
          );
          line.firstChild.title = full;
          line.classList.toggle("now", Boolean(card.now));
          return line;
        }),
      );
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
  const from = Math.max(0, last - MOST_ROWS),
    list = $("transcript").querySelector("ol");
  list.start = from;
  list.replaceChildren(
    ...Array.from({length: last - from + 1}, (_, k) => {
      const hidden = asking && hiddenAt(from + k, told(model, from + k)).size;
      return made("li", hidden ? "?" : asText(model, from + k));
    }),
  );
  const rest = model.steps.count - 1 - last;
  const more = filled(rest === 1 ? "{{transcript.more.one}}" : "{{transcript.more}}", {n: rest});
  $("transcript").querySelector("p").textContent = rest ? more : "";
}

// The gradient of the chosen leaf as the sum over all paths to the result.
function showPaths(at) {
  const {graph, steps} = model,
    {d} = steps,
    place = $("paths").querySelector("div");
  if (picked < 0 || at < steps.count - 1) {
    place.replaceChildren(made("p", "{{paths.later}}"));
    return;
  }
  const ways = new Float64Array(graph.nodes.length),
    {users} = model;
  ways[graph.root] = 1;
  for (let i = graph.root - 1; i >= picked; i--)
    ways[i] = users[i].reduce((sum, [user]) => sum + ways[user], 0);
  const count = ways[picked],
    head = filled(count === 1 ? "{{paths.sum.one}}" : "{{paths.sum}}", {
      name: model.name(picked),
      gradient: number(model.right.gradients()[picked]),
      n: count < 2 ** 53 ? count.toLocaleString("en") : number(count),
    });
  if (count > 8) {
    place.replaceChildren(made("p", `${head}. {{paths.many}}`));
    return;
  }
  const lines = [],
    paths = [{at: picked, names: model.name(picked), factors: []}];
  while (paths.length && lines.length < 9) {
    const path = paths.pop();
    if (path.at === graph.root) {
      const product = path.factors.reduce((a, b) => a * b, 1),
        short = path.names.length > 160 ? `${path.names.slice(0, 160)}…` : path.names;
      lines.push(
        made(
          "li",
          `${short}: ${path.factors.length > 20 ? "…" : path.factors.map(inFormula).join(" × ") || "1"} ` +
            `= ${number(product)}`,
        ),
      );
      continue;
    }
    for (const [user, k] of users[path.at].slice().reverse())
      paths.push({
        at: user,
        names: `${path.names} → ${model.name(user)}`,
        factors: [...path.factors, graph.localDerivative(user, k, d)],
      });
  }
  const list = made("ul");
  list.append(...lines);
  place.replaceChildren(made("p", `${head}:`), list);
}

// The closure that runs at this step, with the lines that run now, and the user's line.
function showCode(at, state) {
  const step = model.steps.list[at],
    item = model.view.items.get(step.item);
  const i = item?.box === undefined ? (item?.node ?? -1) : -1;
  if (i < 0 || !["forward", "backward"].includes(step.phase)) {
    $("code").replaceChildren(made("p", "{{code.later}}", {class: "faint"}));
    return;
  }
  const {op} = model.graph.rules[model.graph.nodes[i][0]],
    parts = [];
  if (model.lines[i])
    parts.push(
      made("p", "{{code.line}}"),
      made("pre", model.lines[i], {class: step.phase === "forward" ? "code running" : "code"}),
    );
  const source = model.code[op];
  if (source) {
    const block = made("pre", "", {class: "code"});
    for (const line of source.split("\n"))
      block.append(
        made(
          "span",
          `${line}\n`,
          step.phase === "backward" && /\.grad\b.*=/.test(line) ? {class: "running"} : {},
        ),
      );
    const upstream = state.changes.length ? number(state.changes[0].upstream) : "·";
    const runs = filled("{{code.runs}}", {upstream});
    parts.push(made("p", step.phase === "backward" ? runs : "{{code.kept}}"), block);
  }
  $("code").replaceChildren(...parts, made("p", parts.length ? "" : "{{code.none}}", {class: "faint"}));
}

// The first number that is not finite. The page keeps computing; the engine would raise an error.
function showAlarm({d, g, known, seeded}) {
  const at = d.findIndex((x, i) => known[i] && !Number.isFinite(x)),
    back = g.findIndex((x, i) => seeded[i] && !Number.isFinite(x));
  $("alarm").hidden = at < 0 && back < 0;
  const [i, key, x] = at >= 0 ? [at, "{{alarm.data}}", d[at]] : [back, "{{alarm.gradient}}", g[back]];
  const turned = [...model.initial].some(([leaf, start]) => !Object.is(model.numbers.get(leaf), start));
  if (i < 0) return;
  const fix = turned ? "{{alarm.turned}}" : "{{alarm.leaves}}";
  $("alarm").textContent = `${filled(key, {name: model.name(i), x: number(x)})} ${fix}`;
}
