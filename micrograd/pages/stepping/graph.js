// The graph: its cards and arrows at a step, the room for them, and the boxes that fold and unfold.

import {Stage} from "../shared/cards.js";
import {$, button, listen, make} from "../shared/elements.js";
import {WORDS} from "../shared/glossary.js";
import {MOST_AT_ONCE} from "../shared/levels.js";
import {counted, number, signed} from "../shared/numbers.js";
import {LEAST, PHONE} from "../shared/pane.js";
import {pictureOf, shownNode} from "../shared/picture.js";
import {isPresenting, listenToPresent} from "../shared/present.js";
import {filled} from "../shared/texts.js";
import {MOST_OPENED, MOST_ROWS, given, open, page, pick, redraw, turn} from "./state.js";
import {pickLeaf} from "./trying.js";
import {boxNow, showValues} from "./values.js";
import {arrowLabel, describe, itemName} from "./words.js";

let shownAt = -1; // the step on display
export const PACE = 1600; // milliseconds

page.stage = new Stage($("graph"), {
  map: $("map"),
  isDown: () => given.down || $("frame").clientWidth < PHONE, // on a phone the arrows go down
  heights,
  onTurn: turn,
  onPick: pickLeaf,
  onType: leaf => {
    pickLeaf(leaf);
    $("value").focus();
    $("value").select();
  },
  onUnfold: unfoldBox,
  onValues: showValues,
});
listen({
  smaller: () => page.stage.zoom(1 / 1.2),
  larger: () => page.stage.zoom(1.2),
  fit: () => page.stage.fit(mostZoom()),
  unfold: () => unfoldBox(boxNow()),
  openValues: () => showValues(),
  showLegend: () => $("showLegend").setAttribute("aria-expanded", $("legend").classList.toggle("open")),
});
$("finding").addEventListener("submit", event => {
  event.preventDefault();
  find();
});
document.addEventListener("keydown", (/** @type {any} */ event) => {
  const by = {PageUp: -1, PageDown: 1}[event.key]; // on a leaf they turn it
  if (!by || event.defaultPrevented || event.target.matches("input, select")) return;
  if (isPresenting()) page.transport.move(page.transport.at() + by); // as a presenter's remote does
  if (isPresenting() || turnMember(by)) event.preventDefault();
});

// Draws what depends on which boxes are open.
export function drawGraph() {
  shownAt = -1;
  showFolds();
  $("meaning").hidden = page.model.view.focus >= 0; // inside a box there is more room for its graph
  page.stage.draw(page.model.view, item => describe(page.model, item));
  resize();
}

export function showGraph(moment) {
  const picture = pictureAt(moment);
  // the product forms while the token travels: see .forming in cards.css
  document.body.classList.remove("forming");
  document.body.classList.toggle("moved", Boolean(moment.nudge || moment.lesson));
  document.body.style.setProperty("--travel", `${picture.duration}ms`);
  page.stage.show(picture);
  void document.body.offsetWidth; // laid out without it, so that each step forms its own product
  document.body.classList.toggle("forming", Boolean(picture.travel && picture.backward));
  shownAt = moment.at;
  const box = boxNow();
  $("unfold").hidden = box < 0;
  if (box >= 0) $("unfold").textContent = filled("{{explain.unfold}}", {name: page.model.boxes[box].label});
}

function pictureAt({at, state, chains, hidden, nudge, lesson}) {
  const {model, picked} = page;
  const {steps, view, kinds, graph, wrong} = model;
  const picture = pictureOf(steps, at, shownAt, i => kinds[i] === "c");
  const isLast = at === steps.count - 1;
  const wrongNodes = new Set(isLast ? wrong.map(([i]) => i) : []);
  // the data before and after the nudge, or the last step down the gradient
  const [from, to] = nudge ? [steps.d, nudge.to] : [lesson?.d ?? steps.d, steps.d];
  for (const item of view.items.values()) {
    const i = shownNode(item);
    const isNode = item.box === undefined;
    const card = picture.cards.get(item.name);
    if (hidden.has(i)) card[picture.backward ? "grad" : "data"] = "?";
    card.picked = isNode && i === picked;
    const spoken = isNode ? (kinds[i] === "c" ? "{{card.constant}}" : "{{card.spoken}}") : "{{card.unfold}}";
    const kind = WORDS[describe(model, item).kind];
    card.spoken = filled(spoken, {name: itemName(model, item), kind, data: card.data, gradient: card.grad});
    card.wrong = wrongNodes.has(i);
    if (state.known[i] && number(from[i]) !== number(to[i]))
      Object.assign(card, {before: number(from[i]), data: number(to[i])});
  }
  view.arrows.forEach((arrow, k) => {
    const shown = picture.arrows[k];
    if (shown.now && picture.backward) shown.label = arrowLabel(model, arrow, chains, hidden);
  });
  const result = view.itemOf[graph.root];
  if (nudge) picture.cards.get(result).badge = badge(nudge);
  if (nudge || lesson) picture.focus = [result];
  return {...picture, duration: (PACE / +$("speed").value) * (picture.backward ? 0.8 : 0.45)};
}

function badge({predicted, actual}) {
  const line = (...parts) => parts;
  const [said, moved] = ["{{nudge.grad}} ", "{{nudge.moved}} "].map(text => ["plain", text]);
  return [line(said, ["gradient", signed(predicted)]), line(moved, ["plain", signed(actual)])];
}

// ---- Its room

const mostZoom = () => (isPresenting() ? 2.5 : 1.25);

// The heights that the graph may have: where all that happens now is in sight, and where only the graph and the
// buttons are (in a frame of another page, and one sentence).
function heights() {
  const free = innerHeight - $("meaning").offsetHeight;
  if (isPresenting()) return [free - $("bar").offsetHeight - $("below").offsetHeight - 66];
  if (document.body.matches(".embedded")) return [Math.max(210, free - $("transport").offsetHeight - 96)];
  if (document.documentElement.clientWidth < 700) return [0.56 * innerHeight];
  const least = Math.max(332, free - 412);
  return [least, Math.max(least, innerHeight - $("bar").offsetHeight - 140)];
}

function resize() {
  const {stage} = page;
  const least = stage.needs(LEAST).height - 1;
  const room = heights().find(height => height >= least) ?? heights()[0];
  if (room > heights()[0]) $("meaning").hidden = true;
  const k = stage.fitting(mostZoom(), {width: stage.size.width, height: room});
  const needed = isPresenting() ? room : stage.needs(k).height + 26; // room for notes below the cards
  stage.svg.style.height = `${Math.round(Math.max(210, Math.min(room, needed)))}px`;
  stage.fit(mostZoom());
  const covered = getComputedStyle($("picture")).position === "sticky" ? $("picture").offsetHeight : 0; // on a phone
  document.documentElement.style.scrollPaddingTop = `${covered}px`;
  const focus = stage.picture?.focus ?? [];
  if (!stage.fits()) stage.lookAt(focus.length ? focus : [stage.cards.keys().next().value]);
}

// The same moment, drawn anew in other room.
function drawAgain() {
  const {picture} = page.stage;
  const at = shownAt;
  drawGraph();
  page.stage.show({...picture, travel: false});
  resize();
  shownAt = at;
}

listenToPresent(() => {
  page.stage.large = isPresenting();
  $(isPresenting() ? "said" : "nudging").prepend($("plot")); // there beside the words of a nudge
  page.transport.goTo(page.transport.at()); // fewer words
  drawAgain();
});

let width = $("frame").clientWidth;
new ResizeObserver(() => {
  if (Math.abs($("frame").clientWidth - width) < 2) return;
  width = $("frame").clientWidth;
  drawAgain();
}).observe($("frame"));
addEventListener("resize", resize);

// ---- Its boxes

// Opens these boxes alone, and stays at the moment that is shown.
export function showBoxes(boxes) {
  const {model, transport} = page;
  const at = transport.at();
  const {phase} = model.steps.list[at];
  const before = model.steps.list.slice(0, at + 1).reduce((sum, {nodes}) => sum + nodes.length, 0);
  const focused = document.activeElement?.getAttribute("aria-label");
  open(boxes);
  // the last step of the new list at which no more operations have run than now
  let same = 0;
  let run = 0;
  model.steps.list.forEach((step, k) => {
    run += step.nodes.length;
    if (run <= before && (phase === "end" || step.phase !== "end")) same = k;
  });
  transport.goTo(same);
  const again = [...$("folds").querySelectorAll("[aria-label]")];
  again.find(element => element.getAttribute("aria-label") === focused)?.focus();
}

function unfoldBox(j) {
  const {levels, boxes, view} = page.model;
  if (boxes[j].kind === "outside") return fold(view.focus);
  const opened = levels.opening(j, page.open);
  const isVector = boxes[j].kind === "leaves" || boxes[j].kind === "vector"; // such as a matrix of parameters
  const isLong = isVector && levels.direct[j] > MOST_AT_ONCE && !levels.inner[j].length;
  if (isLong || levels.size(opened) > MOST_OPENED) showValues(j);
  else showBoxes(opened);
}

// The names that can be found: of boxes, without the numbers of members, and of leaves.
export function listBoxes() {
  const {boxes, leaves, name} = page.model;
  const names = new Set(boxes.filter(isProgram).map(({label}) => label.replace(/ \d+$/, "")));
  const all = [...[...names].sort(), ...leaves.slice(0, MOST_ROWS).map(name)];
  $("labels").replaceChildren(...all.map(value => make("option", {value})));
  $("finding").hidden = names.size < 4;
}
const isProgram = ({kind}) => kind !== "outside" && kind !== "leaves";

// Opens the next box with this name, or else shows the node of this name, or else a box whose name begins with it.
function find() {
  const {boxes, levels, view, graph, kinds, name, paths} = page.model;
  const signs = /[[\],\s]/g; // w1 and w[1] find w₁
  const typed = text => text.toLowerCase().normalize("NFKC").replace(signs, "");
  const text = typed($("find").value);
  const isNamed = (j, like) => boxes[j].kind !== "outside" && like(typed(boxes[j].label), typed(boxes[j].about));
  const named = like => (text ? [...boxes.keys()].filter(j => isNamed(j, like)) : []);
  const exact = named(label => label === text);
  const isNode = i => text && kinds[i] !== "c" && [name(i), paths[i] ?? ""].some(called => typed(called) === text);
  const node = exact.length ? -1 : [...graph.nodes.keys()].findIndex(isNode);
  if (node >= 0) return showNode(node);
  const some = exact.length ? exact : named((label, about) => label.startsWith(text) || about.startsWith(text));
  const around = some.map(j => (boxes[j].kind === "leaves" ? boxes[j].parent : j));
  const alike = [...new Set(around)].reverse(); // the last token of a text has most before it
  $("find").setAttribute("aria-invalid", String(!alike.length));
  if (!alike.length) return;
  showBoxes(levels.complete(levels.around(alike[(alike.indexOf(view.focus) + 1) % alike.length])));
}

// Opens the boxes around a node, and chooses it if it is a leaf; of too many nodes, the values are shown.
function showNode(i) {
  const {levels, boxes, graph, view} = page.model;
  const box = levels.boxOf[i];
  $("find").setAttribute("aria-invalid", "false");
  if (graph.isLeaf(i)) pick(i);
  if (!view.items.has(`v${i}`)) {
    showBoxes(levels.complete(levels.around(boxes[box]?.parent ?? -1)));
    if (box >= 0 && box !== page.values) unfoldBox(box);
  } else redraw();
  page.stage.lookAt([page.model.view.itemOf[i]]);
}

// Closes a box with all that is open in it; of a stack, the stack.
function fold(j) {
  const {levels, boxes} = page.model;
  const {parent} = boxes[j];
  const outer = boxes[parent]?.members ? parent : j;
  showBoxes(new Set([...page.open].filter(k => !levels.around(k).includes(outer))));
}

// The way to what is shown, outermost first; if several boxes are open side by side, what folds them.
function showFolds() {
  const {levels, boxes, view} = page.model;
  const crumb = j => {
    const {label, parent} = boxes[j];
    if (boxes[parent]?.members) return pager(parent, j);
    return j === view.focus ? make("b", "", label) : button(label, () => showBoxes(levels.complete(levels.around(j))));
  };
  const frames = view.frames.sort((a, b) => levels.depth[a] - levels.depth[b]).slice(-3);
  const all = button(view.focus < 0 ? "{{fold.all}}" : "{{fold.whole}}", () => showBoxes(new Set()));
  const way = levels.around(view.focus).reverse();
  const folds = frames.map(j => button(filled("{{fold.one}}", {name: boxes[j].label}), () => fold(j)));
  const beside = frames.length > 1 ? [...folds, all] : folds;
  $("folds").replaceChildren(...(way.length ? [all, ...way.flatMap(j => ["›", crumb(j)])] : beside), ...allUses());
}

// In one of several examples: where the gradients of parameters come from.
function allUses() {
  const {levels, boxes, view, kinds, users} = page.model;
  const stack = levels.around(view.focus).findLast(j => boxes[j].kind === "stack");
  const isInside = i => levels.around(levels.boxOf[i]).includes(view.focus);
  const isShared = i => kinds[i] === "p" && users[i].some(([user]) => !isInside(user));
  const isShown = ({box, nodes}) => boxes[box]?.kind !== "outside" && nodes.some(isShared);
  if (stack === undefined || ![...view.items.values()].some(isShown)) return [];
  const members = boxes.filter(({parent, kind}) => parent === stack && kind !== "leaves");
  return [make("span", "faint", filled("{{arrow.all}}", {n: counted(members.length)}))];
}

// "‹ 3 of 100 ›": which member of a stack is shown, or which iteration of a loop.
function pager(stack, member) {
  const {levels, boxes} = page.model;
  const {members, label} = boxes[stack];
  const at = members.indexOf(member);
  const go = k => members[k] !== undefined && showBoxes(levels.turning(stack, k, page.open));
  const step = (sign, by, key) => {
    const made = button(sign, () => go(at + by), filled(key, {name: label}));
    return Object.assign(made, {ariaDisabled: String(members[at + by] === undefined)});
  };
  const change = ({target}) => go(Math.round(+target.value) - 1);
  const about = {type: "number", min: 1, max: members.length, value: at + 1, change};
  const field = make("input", {...about, "aria-label": filled("{{pager.which}}", {name: label})});
  const total = filled("{{pager.of}}", {n: counted(members.length)});
  const parts = [step("‹", -1, "{{pager.before}}"), field, total, step("›", 1, "{{pager.after}}")];
  return make("span", {class: "pager", role: "group", "aria-label": label, title: "{{pager.keys}}"}, ...parts);
}

// To the member before or after the one that is shown, of the innermost stack.
function turnMember(by) {
  const pager = [...$("folds").querySelectorAll(".pager")].at(-1);
  pager?.querySelectorAll("button")[(by + 1) / 2].click();
  return pager !== undefined;
}
