// The drawer: mistakes, and the moment that is shown in other forms: a table, text, paths, code.

import {$, make} from "../shared/elements.js";
import {counted, inFormula, number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {formulaOf, plain} from "./formula.js";
import {describe, differs} from "./moment.js";
import {MOST_ROWS, given, loaded, page, recompute, remember, show} from "./state.js";
import {hiddenAt} from "./trying.js";
import {WORDS, asText, callName, itemName, told} from "./words.js";

// ---- 1. Mistakes

// Those that steps.js can make.
export const MISTAKES = {
  assign: {label: "{{mistake.assign}}", why: "{{mistake.assign.why}}"},
  order: {label: "{{mistake.order}}", why: "{{mistake.order.why}}"},
  twice: {label: "{{mistake.twice}}", why: "{{mistake.twice.why}}"},
  local: {label: "{{mistake.local}}", why: "{{mistake.local.why}}"},
};

export function makeSwitches() {
  for (const tab of $("tabs").querySelectorAll("button"))
    tab.addEventListener("click", () => openPanel(tab.getAttribute("aria-controls")));
  const toggle = key => {
    remember("mistake");
    page.mistake = page.mistake === key ? "" : key;
    page.victim = defaultVictim();
    recompute();
  };
  for (const [key, {label}] of Object.entries(MISTAKES))
    $("switches").append(make("button", {"data-mistake": key, click: () => toggle(key)}, label));
  $("victim").addEventListener("change", () => {
    remember("victim");
    page.victim = +$("victim").value;
    recompute();
  });
  $("toExample").addEventListener("click", () => {
    remember("example");
    show(loaded(given.example));
    page.victim = defaultVictim();
    recompute();
    page.transport.goTo(page.model.steps.count - 1);
  });
  $("toOwn").addEventListener("click", () => {
    remember("own");
    page.mistake = "";
    show(page.own);
    page.transport.goTo(0);
  });
}

// The last operation with a local derivative other than 1: there the mistake shows.
export function defaultVictim() {
  const {graph, kinds, steps} = page.model;
  const shows = i => (o, k) => kinds[o] !== "c" && graph.localDerivative(i, k, steps.d) !== 1;
  for (let i = graph.root; i >= 0; i--) if (graph.operands(i).some(shows(i))) return i;
  return graph.root;
}

export function showMistake() {
  const {model, mistake, victim} = page;
  const {graph, kinds, name} = model;
  for (const button of $("switches").children) button.setAttribute("aria-pressed", button.dataset.mistake === mistake);
  $("which").hidden = mistake !== "local";
  if (mistake === "local") {
    const some = [...graph.nodes.keys()].filter(i => !graph.isLeaf(i)).slice(-MOST_ROWS);
    const option = i => make("option", {value: i}, `${name(i)} (${graph.rule(i).sign})`);
    if ($("victim").options.length !== some.length) $("victim").replaceChildren(...some.map(option));
    $("victim").value = victim;
  }
  model.wrong = [];
  if (mistake) {
    const right = model.right.gradients();
    const played = model.steps.gradients();
    const isWrong = i => kinds[i] !== "c" && differs(played[i], right[i]);
    model.wrong = [...graph.nodes.keys()].filter(isWrong).map(i => [i, played[i], right[i]]);
    $("why").textContent = MISTAKES[mistake].why;
  }
  $("why").hidden = !mistake;
  $("offer").hidden = !mistake || model.wrong.length > 0;
  $("comparison").hidden = !model.wrong.length;
}

// ---- 2. The moment in other forms

export const PANELS = ["mistakes", "table", "transcript", "paths", "code"];

function openPanel(name) {
  page.panel = page.panel === name ? "" : name;
  showPanel();
  const at = page.transport.at();
  showDrawer(at, page.model.steps.state(at));
}

export function showPanel() {
  for (const id of PANELS) $(id).hidden = id !== page.panel;
  for (const tab of $("tabs").querySelectorAll("button"))
    tab.setAttribute("aria-expanded", tab.getAttribute("aria-controls") === page.panel);
}

export function showDrawer(at, state) {
  const {panel} = page;
  if (panel === "mistakes") showComparison(at);
  if (panel === "table") showTable();
  if (panel === "transcript") writeTranscript(at);
  if (panel === "paths") showPaths(at);
  if (panel === "code") showCode(at, state);
}

const row = (...cells) => make("tr", "", ...cells.map(text => make("td", "", text)));
const bodyOf = id => $(id).querySelector("tbody");

function showComparison(at) {
  const {wrong, steps, name} = page.model;
  if (!page.mistake || !wrong.length) return;
  const last = at === steps.count - 1;
  const text = x => (last ? number(x) : "·");
  const rows = wrong.slice(0, 12).map(([i, played, right]) => row(name(i), text(played), text(right)));
  bodyOf("comparison").replaceChildren(...rows, ...(last ? [] : [row("{{mistakes.later}}")]));
}

function showTable() {
  const {model, stage} = page;
  const {graph, kinds, boxes, view} = model;
  const about = ({box, node}, kind) => {
    if (box !== undefined) return boxes[box].about;
    if (graph.isLeaf(node)) return WORDS[kind];
    return `= ${plain(formulaOf(graph, node, {stop: () => true, called: callName(model)}))}`;
  };
  const items = [...view.items.values()].filter(({box, node}) => box !== undefined || kinds[node] !== "c");
  const rows = items.slice(0, MOST_ROWS).map(item => {
    const card = stage.picture.cards.get(item.name);
    const {kind, full} = describe(item);
    const line = row(itemName(model, item), about(item, kind), card.data ?? "", card.grad ?? "");
    line.firstChild.title = full;
    line.classList.toggle("now", card.now);
    return line;
  });
  bodyOf("table").replaceChildren(...rows);
}

// The steps so far (on paper all of them): later ones would give numbers away.
export function writeTranscript(last) {
  const {model} = page;
  const from = Math.max(0, last - MOST_ROWS);
  const list = $("transcript").querySelector("ol");
  const lines = Array.from({length: last - from + 1}, (_, k) => {
    const isHidden = page.asking && hiddenAt(from + k, told(model, from + k)).size;
    return make("li", "", isHidden ? "?" : asText(model, from + k));
  });
  list.start = from;
  list.replaceChildren(...lines);
  const rest = model.steps.count - 1 - last;
  const more = filled(rest === 1 ? "{{transcript.more.one}}" : "{{transcript.more}}", {n: rest});
  $("transcript").querySelector("p").textContent = rest ? more : "";
}

// The gradient of the chosen leaf as the sum over all paths to the result.
function showPaths(at) {
  const {model, picked} = page;
  const {graph, steps, users, name} = model;
  const say = (...parts) =>
    $("paths")
      .querySelector("div")
      .replaceChildren(...parts);
  if (picked < 0 || at < steps.count - 1) return say(make("p", "", "{{paths.later}}"));
  const ways = new Float64Array(graph.nodes.length);
  ways[graph.root] = 1;
  for (let i = graph.root - 1; i >= picked; i--) ways[i] = users[i].reduce((sum, [user]) => sum + ways[user], 0);
  const count = ways[picked];
  const head = filled(count === 1 ? "{{paths.sum.one}}" : "{{paths.sum}}", {
    name: name(picked),
    gradient: number(model.right.gradients()[picked]),
    n: count < 2 ** 53 ? counted(count) : number(count),
  });
  if (count > 8) return say(make("p", "", `${head}. {{paths.many}}`));
  const lines = [];
  const paths = [{end: picked, names: name(picked), factors: []}];
  while (paths.length && lines.length < 9) {
    const {end, names, factors} = paths.pop();
    if (end === graph.root) {
      const short = names.length > 160 ? `${names.slice(0, 160)}…` : names;
      const product = factors.length > 20 ? "…" : factors.map(inFormula).join(" × ") || "1";
      lines.push(make("li", "", `${short}: ${product} = ${number(factors.reduce((a, b) => a * b, 1))}`));
      continue;
    }
    for (const [user, k] of users[end].slice().reverse())
      paths.push({
        end: user,
        names: `${names} → ${name(user)}`,
        factors: [...factors, graph.localDerivative(user, k, steps.d)],
      });
  }
  return say(make("p", "", `${head}:`), make("ul", "", ...lines));
}

// The closure that runs at this step, with the lines that run now, and the user's line.
function showCode(at, {changes}) {
  const {steps, view, graph, lines, code} = page.model;
  const {phase, item} = steps.list[at];
  const i = view.items.get(item)?.node ?? -1;
  if (i < 0 || (phase !== "forward" && phase !== "backward"))
    return $("code").replaceChildren(make("p", "faint", "{{code.later}}"));
  const parts = [];
  if (lines[i]) {
    const running = phase === "forward" ? "code running" : "code";
    parts.push(make("p", "", "{{code.line}}"), make("pre", running, lines[i]));
  }
  const source = code[graph.rule(i).op];
  if (source) {
    const isRunning = line => phase === "backward" && /\.grad\b.*=/.test(line);
    const block = source.split("\n").map(line => make("span", isRunning(line) ? "running" : "", `${line}\n`));
    const runs = filled("{{code.runs}}", {upstream: changes.length ? number(changes[0].upstream) : "·"});
    parts.push(make("p", "", phase === "backward" ? runs : "{{code.kept}}"), make("pre", "code", ...block));
  }
  return $("code").replaceChildren(...parts, make("p", "faint", parts.length ? "" : "{{code.none}}"));
}

// The first number that is not finite. The page keeps computing; the engine would raise an error.
export function showAlarm({d, g, known, seeded}) {
  const {initial, numbers, name} = page.model;
  const at = d.findIndex((x, i) => known[i] && !Number.isFinite(x));
  const back = g.findIndex((x, i) => seeded[i] && !Number.isFinite(x));
  $("alarm").hidden = at < 0 && back < 0;
  if (at < 0 && back < 0) return;
  const [i, key, x] = at >= 0 ? [at, "{{alarm.data}}", d[at]] : [back, "{{alarm.gradient}}", g[back]];
  const isTurned = [...initial].some(([leaf, start]) => !Object.is(numbers.get(leaf), start));
  const fix = isTurned ? "{{alarm.turned}}" : "{{alarm.leaves}}";
  $("alarm").textContent = `${filled(key, {name: name(i), x: number(x)})} ${fix}`;
}
