// What the page shows of one step.

import {$, make} from "../shared/elements.js";
import {counted, number} from "../shared/numbers.js";
import {chainTexts, pictureOf, shownNode} from "../shared/picture.js";
import {filled} from "../shared/texts.js";
import {showAlarm, showDrawer} from "./drawer.js";
import {PRODUCT, plain, written} from "./formula.js";
import {termOf} from "./meaning.js";
import {keepAddress} from "./sending.js";
import {page} from "./state.js";
import {addBadge, askQuestion, changeAt, hiddenAt, showDescent, showLeaf, showNudge} from "./trying.js";
import {
  WORDS,
  asText,
  isTold,
  itemName,
  localRule,
  sumOf,
  told,
  whatFor,
  whyBackwards,
  whyMultiplied,
} from "./words.js";

export const PACE = 1600; // milliseconds
const KINDS = {i: "input", p: "parameter", c: "constant", o: "operation", r: "result"};
const PHASES = {
  start: "{{phase.start}}",
  forward: "{{phase.forward}}",
  seed: "{{phase.backward}}",
  backward: "{{phase.backward}}",
  end: "{{phase.end}}",
};

export function showStep(at) {
  const {model, transport} = page;
  const now = told(model, at);
  const {step, state} = now;
  const hidden = hiddenAt(at, now);
  document.body.classList.toggle("backward", at >= model.steps.seedAt);
  $("phase").textContent = PHASES[step.phase];
  withButtons($("sentenceNow"), now.sentence);
  showEquation(now, hidden);
  showChains(now, hidden);
  page.stage.show(momentOf(at, now, hidden));
  page.shownAt = at;
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

// What the card of an item shows at all times.
export function describe(item) {
  const {graph, kinds, boxes, name, paths, fixed} = page.model;
  if (item.box !== undefined) {
    const {label, about} = boxes[item.box];
    const [first, ...others] = about.split(" · ");
    const lines = [[first, ...others.slice(0, 1)].join(", "), ...others.slice(1)];
    return {kind: "box", title: label, full: label, about: lines, data: item.outputs.length === 1};
  }
  const i = item.node;
  const sign = graph.isLeaf(i) ? "" : graph.rule(i).sign;
  const full = paths[i] ?? name(i);
  return {kind: KINDS[kinds[i]], title: name(i), full, sign, fixed: Boolean(fixed[i])};
}

function momentOf(at, {state, chains}, hidden) {
  const {model, mistake, picked, chosen, nudging} = page;
  const {steps, view, kinds} = model;
  const {g, known} = state;
  const picture = pictureOf(steps, at, page.shownAt, i => kinds[i] === "c");
  const wrong = at === steps.count - 1 && mistake ? model.right.gradients() : null;
  const change = changeAt(at, state);
  const isChanged = i => change && known[i] && number(change.from[i]) !== number(change.to[i]);
  for (const item of view.items.values()) {
    const i = shownNode(item);
    const isNode = item.box === undefined;
    const card = picture.cards.get(item.name);
    if (hidden.has(i)) card[picture.backward ? "grad" : "data"] = "?";
    card.picked = isNode && i === picked && (chosen || nudging);
    const name = itemName(model, item);
    const spoken = isNode ? (kinds[i] === "c" ? "{{card.constant}}" : "{{card.spoken}}") : "{{card.unfold}}";
    const kind = WORDS[describe(item).kind];
    card.spoken = filled(spoken, {name, kind, data: card.data, gradient: card.grad});
    if (i < 0) continue;
    card.wrong = wrong !== null && differs(g[i], wrong[i]);
    if (isChanged(i)) Object.assign(card, {before: number(change.from[i]), data: number(change.to[i])});
  }
  view.arrows.forEach((arrow, k) => {
    const shown = picture.arrows[k];
    if (shown.now && picture.backward) shown.label = arrowLabel(arrow, chains, hidden);
  });
  addBadge(at, state, picture.cards);
  return {...picture, duration: Math.min(700, (PACE / +$("speed").value) * 0.6)};
}

export const differs = (a, b) => !Object.is(a, b) && !(Math.abs(a - b) <= 1e-12 * Math.max(1e-300, Math.abs(b)));

function arrowLabel(arrow, chains, hidden) {
  const {graph, kinds} = page.model;
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
  if (!isTold(chain)) return {text: number(chain.share)};
  return {...chainTexts(chain), use, isFirst};
}

function showEquation({equation}, hidden) {
  $("equation").replaceChildren();
  if (!equation) return;
  const result = [hidden.size ? "?" : equation.result];
  const all = [page.model.inMath(equation.node), equation.names, equation.numbers, result];
  const parts = all.filter((part, k) => !k || plain(part) !== plain(all[k - 1]));
  parts.forEach((part, k) => {
    if (k) $("equation").append(" = ");
    $("equation").append(written(make(k === parts.length - 1 ? "b" : "span"), part));
  });
}

// The text, with the names of buttons drawn as buttons.
export function withButtons(place, text) {
  const names = ["{{button.forward.title}}", "{{button.step}}", "{{button.nudge}}", "{{button.undo}}"];
  const parts = text.split(RegExp(`(${names.join("|").replace(/[.*+?()[\]]/g, "\\$&")})`));
  place.replaceChildren(...parts.map((part, k) => (k % 2 ? make("kbd", "", part) : part)));
  return place;
}

// The chain rule for each operand: three numbers in their colours, each above what it is called.
function showChains({step, chains, state}, hidden) {
  const {model} = page;
  const {root} = model.graph;
  $("chains").replaceChildren();
  const factor = (className, text, names, term) =>
    make(
      "span",
      `factor ${className}`,
      make("b", "", text),
      written(make("small"), names),
      ...(term ? [termOf(term)] : []),
    );
  const after = i => ["∂", ...model.inMath(i, PRODUCT + 1)];
  const rate = (of, by) => [...after(of), " / ", ...after(by)];
  const sign = text => make("span", "sign", text);
  const most = chains[0]?.giver < 0 ? 3 : 6;
  const first = chains.find(isTold); // only its factors are named: the others are below it
  for (const chain of chains.slice(0, most)) {
    const isHidden = hidden.has(chain.node);
    const use = chain.use ? make("small", "", ` ${chain.use}`) : "";
    const to = written(make("b"), model.inMath(chain.node));
    const row = make("div", "chain", make("span", "to", make("small", "", "{{chain.to}}"), to, use));
    if (isTold(chain)) {
      const rule = chain.edge < 0 || isHidden ? [] : localRule(model, chain);
      const names = rate(chain.giver, chain.node);
      row.append(
        factor(
          "local",
          isHidden ? "?" : number(chain.local),
          rule.length ? [...names, " = ", ...rule] : names,
          chain === first && "local",
        ),
        sign("×"),
        factor("gradient", number(chain.upstream), rate(root, chain.giver), chain === first && "upstream"),
        sign("="),
      );
    }
    const share = isHidden ? "?" : number(chain.share);
    row.append(factor("share", share, [], chain === (first ?? chains[0]) && "share"));
    if (!isHidden) row.append(make("span", "sum", sumOf(model, chain, state)));
    $("chains").append(row);
  }
  const note = text => $("chains").append(withButtons(make("p", "note"), text));
  if (chains.length > most) note(filled("{{list.rest}}", {n: chains.length - most}));
  if (step.phase === "seed" && !step.pass) note(whyBackwards(model));
  if (step === model.steps.list[model.steps.seedAt + 2] && first && !page.mistake && !hidden.size)
    note(whyMultiplied(model, first));
  if (step.phase === "end" && !page.lesson) note(whatFor(model));
}
