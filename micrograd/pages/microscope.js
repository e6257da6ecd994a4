// The microscope: a text goes through a language model, number by number, and the model is trained on the page.
//
// The state is the text, the position, the chosen number, and the model's weights. `refresh` computes everything for
// the text again; each show function draws one panel from it.

import {makeClock} from "./learning/clock.js";
import {Past, listenToLinks, readAddress, writeAddress} from "./shared/state.js";
import {$, bar, button, listen, make, press, row} from "./shared/elements.js";
import {explainWords, word} from "./shared/glossary.js";
import {listenToKeys} from "./shared/keys.js";
import {counted, decimals, number, numberFrom, percent, shareOf} from "./shared/numbers.js";
import {listenToRate, rateFrom, showRate} from "./shared/rate.js";
import {filled, partsOf} from "./shared/texts.js";
import {Model} from "./scope/model.js";
import {headsOf, namesOf} from "./scope/names.js";

const MEANING = JSON.parse("{{lens.*}}");
const LEAVES = JSON.parse("{{microscope.leaf.*}}");
const WORD_OF = {added: "residual", logits: "logit"}; // names of functions that a word explains
const [MANY, TEXTS, TEMPERATURE] = [1000, 10, 0.5];
const MOST_STEPS = 100_000; // that a link asks for

const given = JSON.parse($("data").textContent);
const model = new Model(given);
const {tokens, texts, boxes: tops} = given;
const heads = headsOf(tops),
  {kindOf, nameOf} = namesOf(model);
const joint = tokens.every(token => token.length === 1) ? "" : " ";
const written = codes => codes.map(code => tokens[code]).join(joint);

/** @type {any} */
export const page = {
  model,
  codes: [], // the text
  at: 0, // the position
  chosen: [], // the slot whose arithmetic is shown, after those by which the reader came there
  hasGradients: false,
  seed: 1,
  left: 0, // steps of training that are still to be done
  isMixed: false, // the steps had different learning rates, so that a link cannot repeat them
  losses: [],
};
const kept = ({codes, at, losses, isMixed} = page) => ({codes, at, losses, isMixed, saved: model.saved()});
const past = new Past(kept, ({saved, ...before}) => {
  stop();
  Object.assign(page, before);
  model.restore(saved);
  $("changed").replaceChildren();
  showTyped();
  refresh();
});

const tokenAt = p => (p ? tokens[page.codes[p - 1]] : tokens[model.end]);
const isLost = () => !Number.isFinite(model.memory[given.loss]);
const numberOf = slot => (page.hasGradients && model.gradOf.has(slot) ? model.gradOf.get(slot) : slot);

// ---- Panels

function showText() {
  const [loss, guess] = [model.memory[given.loss], Math.log(tokens.length)].map(decimals);
  $("loss").textContent = filled("{{microscope.loss}}", {loss, guess});
  $("positions").replaceChildren(
    ...[...page.codes, null].map((_, p) => {
      const token = button(tokenAt(p), () => goTo(p), filled("{{microscope.position}}", {p, token: tokenAt(p)}));
      token.setAttribute("aria-pressed", p === page.at);
      return token;
    }),
  );
}

function showNext() {
  const shares = model.probabilities(page.at),
    actual = page.codes[page.at] ?? model.end;
  $("next-title").textContent = filled("{{microscope.next}}", {token: tokenAt(page.at)});
  $("next").replaceChildren(...shares.map((share, i) => bar(tokens[i], shareOf(share, 1), percent(share))));
  $("next").children[actual].classList.add("actual");
  const best = shares.map((share, i) => [share, tokens[i]]).sort(([a], [b]) => b - a);
  const list = best.slice(0, 3).map(([share, token]) => `${token} ${percent(share)}`);
  $("next").setAttribute("aria-label", filled("{{microscope.bars}}", {list: list.join(", ")}));
  const [share, loss] = [percent(shares[actual]), decimals(model.memory[given.losses[page.at]])];
  const told = {logits: word("logit", "logits"), actual: tokens[actual], share, loss};
  $("next-said").replaceChildren(...partsOf("{{microscope.next.said}}", told));
}

function showAttention() {
  $("attention").hidden = !heads.length;
  $("matrix").textContent = page.hasGradients ? "{{microscope.matrix.gradients}}" : "{{microscope.matrix}}";
  const positions = [...Array(page.codes.length + 1).keys()];
  const named = (p, scope) => make("th", {scope}, tokenAt(p));
  const pictures = heads.map((rows, h) => {
    const line = p => {
      const cells = positions.map(q => make("td", "", q > p ? "" : weight(rows[p][q], h, p, q)));
      return make("tr", p === page.at ? "now" : "", named(p, "row"), ...cells);
    };
    const columns = make("tr", "", make("td"), ...positions.map(q => named(q, "col")));
    const caption = make("figcaption", "", word("head", filled("{{microscope.head}}", {n: h + 1})));
    return make("figure", "", caption, make("table", "head", columns, ...positions.map(line)));
  });
  $("heads").replaceChildren(...pictures);
  const said = heads.map((rows, h) => {
    const shares = rows[page.at].map(slot => model.memory[slot]);
    const p = shares.reduce((best, share, q) => (share > shares[best] ? q : best), 0);
    return filled("{{microscope.attention.one}}", {n: h + 1, share: percent(shares[p]), token: tokenAt(p), p});
  });
  const told = {token: tokenAt(page.at), heads: said.join("; ")};
  $("attention-said").textContent = filled("{{microscope.attention.said}}", told);
}

function weight(slot, h, p, q) {
  const own = numberOf(slot),
    x = model.memory[own];
  const told = filled("{{microscope.weight}}", {n: h + 1, p, q, share: number(model.memory[slot])});
  const label = page.hasGradients ? `${told}. ${filled("{{microscope.gradient}}", {value: number(x)})}` : told;
  const [most, hue] = page.hasGradients ? [0.2, "gradient"] : [1, "ink"];
  return cellOf(own, label, p === page.at, x, most, hue);
}

function showBoxes() {
  $("boxes-title").textContent = filled("{{microscope.boxes}}", {p: page.at, token: tokenAt(page.at)});
  $("strips").textContent = page.hasGradients ? "{{microscope.strips.gradients}}" : "{{microscope.strips}}";
  $("boxes").replaceChildren(...tops[page.at].map(boxShown));
}

function boxShown({name, slots, inside, head}) {
  const meaning = WORD_OF[name] ?? name;
  const isRepeated = String(inside.at(-1)?.slots) === String(slots);
  const title = make("h3", "", meaning in MEANING ? word(meaning, name) : name);
  if (head >= 0) title.append(" (", word("head", filled("{{microscope.head}}", {n: head + 1})), ")");
  return make("div", "box", title, ...inside.map(boxShown), ...(isRepeated ? [] : [stripOf(name, slots, head >= 0)]));
}

// Behind it is the number of the strongest colour: 1 for shares of attention, else the one furthest from 0. Logits
// bear their tokens.
function stripOf(name, slots, areShares) {
  const own = slots.map(numberOf),
    numbers = own.map(slot => model.memory[slot]),
    most = areShares && !page.hasGradients ? 1 : Math.max(...numbers.map(Math.abs));
  const areLogits = String(slots) === String(given.logits[page.at]);
  const cells = own.map((slot, k) => {
    const label = `${nameOf(slot) || `${name} ${k + 1}`}: ${number(numbers[k])}`;
    const hue = page.hasGradients ? "gradient" : undefined;
    const range = areLogits ? 1.6 * most : most; // paler below letters
    const cell = cellOf(slot, label, k === 0, numbers[k], range, hue);
    cell.textContent = areLogits ? tokens[k] : "";
    return cell;
  });
  const scale = areShares ? filled("{{microscope.scale.share}}", {most: number(most)}) : `±${number(most)}`;
  const strip = {class: "strip", role: "group", "aria-label": name};
  return make("div", strip, ...cells, make("span", "faint", scale));
}

// A small square for a number: a stronger colour is a larger one. Of several, the Tab key reaches one.
function cellOf(slot, label, isReached, x, most, hue = x < 0 ? "negative" : "positive") {
  const cell = button("", () => choose(slot), label);
  cell.title = label;
  cell.tabIndex = isReached ? 0 : -1;
  cell.style.setProperty("--hue", `var(--${hue})`);
  cell.style.setProperty("--share", `${Math.round(85 * shareOf(x, most))}%`);
  cell.classList.toggle("chosen", slot === page.chosen.at(-1));
  return cell;
}

// The operation that computed a number, with its operands.
function showNumber() {
  const title = make("h2", "", "{{microscope.number}}");
  if (!page.chosen.length) return $("number").replaceChildren(title, make("p", "", "{{microscope.number.none}}"));
  const slot = page.chosen.at(-1),
    {memory} = model,
    kind = kindOf(slot);
  const name = nameOf(slot) || number(memory[slot]);
  const parts = [title, make("p", "big", `${name} = ${number(memory[slot])}`)];
  if (kind === "computed") parts.push(...arithmetic(model.operation(slot)));
  else parts.push(make("p", "", LEAVES[kind]));
  const buttons = make("div", "row");
  if (page.chosen.length > 1) buttons.append(button("{{microscope.back}}", back));
  if (model.gradOf.has(slot)) {
    const grad = model.gradOf.get(slot);
    buttons.append(button(filled("{{microscope.gradient}}", {value: number(memory[grad])}), () => follow(grad)));
    buttons.lastChild.classList.add("gradient");
  }
  $("number").replaceChildren(...parts, buttons);
}

const operand = slot => {
  const name = nameOf(slot),
    text = number(model.memory[slot]);
  return name ? button(`${name} = ${text}`, () => follow(slot)) : make("span", "", text);
};
const listed = rows => {
  const about = {class: "scroll", tabindex: 0, role: "group", "aria-label": "{{microscope.number}}"};
  return make("div", about, make("table", "", ...rows));
};

function arithmetic({op, slots}) {
  const {memory} = model,
    n = slots.length;
  const said = text => make("p", "", text);
  const all = rows => listed(rows.map(slot => row([operand(slot)])));
  if (op === "dot" || op === "*") {
    const half = n / 2;
    const rows = slots.slice(0, half).map((first, k) => {
      const right = slots[k + half];
      return row([operand(first), "×", operand(right), `= ${number(memory[first] * memory[right])}`]);
    });
    return [said(op === "*" ? "{{microscope.times}}" : filled("{{microscope.dot}}", {n: half})), listed(rows)];
  }
  if (op === "take") {
    const k = memory[slots[0]];
    return [said(filled("{{microscope.take}}", {k, n: n - 1})), all([slots[1 + k]])];
  }
  if (op === "scatter") {
    const half = (n - 1) / 2,
      k = memory[slots[n - 1]];
    const received = slots.slice(half, n - 1).filter((_, i) => memory[slots[i]] === k);
    const told = received.length ? "{{microscope.scatter}}" : "{{microscope.scatter.none}}";
    return [said(filled(told, {k: tokens[k] ?? k})), ...(received.length ? [all(received)] : [])];
  }
  if (op.startsWith("where")) {
    const sign = op.slice(6);
    return [said(filled("{{microscope.choice}}", {op: sign === "is" ? "{{microscope.is}}" : sign})), all(slots)];
  }
  const known = {sum: "{{microscope.sum}}", "+": "{{microscope.sum}}", largest: "{{microscope.largest}}"};
  const about = {n, op: {"/": "÷", "-": "−"}[op] ?? op};
  return [said(filled(known[op] ?? "{{microscope.operation}}", about)), all(slots)];
}

// Weights with a number each, the largest first.
function most(numbers, count) {
  const order = Array.from(numbers.keys()).sort((a, b) => Math.abs(numbers[b]) - Math.abs(numbers[a]));
  return order.slice(0, count);
}

function showBlame() {
  $("blame").hidden = !page.hasGradients;
  if (!page.hasGradients) return;
  const grads = Float64Array.from(given.gradients, slot => model.memory[slot]);
  const groups = new Map();
  grads.forEach((g, k) => {
    const group = given.called[k].replace(/(\[\d+\])+$/, "");
    groups.set(group, (groups.get(group) ?? 0) + g * g);
  });
  const sizes = [...groups].map(([group, squares]) => [group, Math.sqrt(squares)]).sort(([, a], [, b]) => b - a);
  $("blame-said").textContent = filled("{{microscope.blame.said}}", {count: counted(model.count)});
  const rows = most(grads, 5).map(k => row([operand(k), make("span", "gradient", `∂L/∂w = ${number(grads[k])}`)]));
  const bars = sizes.map(([group, size]) => bar(group, shareOf(size, sizes[0][1]), number(size), "gradient", "wide"));
  $("blamed").replaceChildren(make("table", "", ...rows), ...bars);
}

function showTraining() {
  const isRunning = clock.isRunning();
  $("next-text").textContent = filled("{{microscope.learn.next}}", {text: written(model.next)});
  $("train").textContent = isRunning ? "{{microscope.stop}}" : "{{microscope.train}}";
  const state = model.state === "trained" ? "{{microscope.state.trained}}" : "{{microscope.state.untrained}}";
  const recent = page.losses.slice(-100);
  const mean = recent.reduce((sum, x) => sum + x, 0) / recent.length;
  const said = [filled("{{microscope.taken}}", {state, n: counted(model.taken)})];
  if (isLost()) said.push("{{train.overflow}}");
  else if (recent.length > 1) said.push(filled("{{microscope.recent}}", {n: recent.length, loss: decimals(mean)}));
  $("trained-said").setAttribute("aria-live", isRunning ? "off" : "polite");
  $("trained-said").textContent = said.join(" ");
  $("trained-said").classList.toggle("wrong", isLost());
  $("undo").disabled = !past.states.length;
  for (const id of ["trained", "untrained"]) $(id).hidden = !model.hasUntrained;
}

function showInvented() {
  const found = Array.from({length: TEXTS}, (_, i) => written(model.invented(1000 * page.seed + i, TEMPERATURE)));
  $("invented").textContent = found.filter(Boolean).join(joint ? " · " : ", ");
}
function compute() {
  model.load(page.codes);
  model.forward();
  model.backward();
}

// ---- State

function draw() {
  for (const show of [showText, showNext, showAttention, showBoxes, showNumber, showBlame, showTraining]) show();
  press("gradients", page.hasGradients);
  writeAddress(address, 300);
}
function refresh() {
  showInvented();
  compute(); // the memory shows the text of the reader again
  draw();
}
const address = () => ({
  text: written(page.codes),
  at: page.at,
  ...(page.hasGradients && {gradients: ""}),
  ...(model.rate !== given.optimizer.rate && {rate: model.rate}),
  ...(model.taken && !page.isMixed && {steps: model.taken}),
  ...(page.chosen.length && {number: page.chosen.at(-1)}),
  ...(model.state === "untrained" && {untrained: ""}),
});

function goTo(p) {
  page.at = Math.max(0, Math.min(p, page.codes.length));
  draw();
  $("positions").children[page.at].focus();
}
function choose(...slots) {
  page.chosen = slots;
  draw();
}
const follow = slot => choose(...page.chosen, slot);
const back = () => choose(...page.chosen.slice(0, -1));
function stop() {
  page.left = 0;
  clock.pause();
}
function begin(state) {
  stop();
  Object.assign(page, {losses: [], isMixed: false});
  model.begin(state);
  $("changed").replaceChildren();
}
// Brings the fields to the present state.
function showTyped() {
  showRate(model.rate);
  $("text").value = written(page.codes);
  refuse("");
}

// The tokens of a text, capitals as small letters where the model knows only these; or why the text is refused.
function parsed(text) {
  const parts = (joint ? text.trim().split(/\s+/) : [...text.trim()]).filter(Boolean);
  const readable = tokens.slice(0, -1);
  const codes = parts.map(part => readable.indexOf(readable.includes(part) ? part : part.toLowerCase()));
  const unknown = parts[codes.indexOf(-1)];
  if (unknown === undefined && codes.length && codes.length < model.n) return {codes, why: ""};
  const known = {unknown, tokens: readable.join(" "), most: model.n - 1};
  return {why: filled(unknown === undefined ? "{{microscope.refused.length}}" : "{{microscope.refused}}", known)};
}
function refuse(why) {
  $("refused").textContent = why;
  $("columns").classList.toggle("old", !!why); // they show the text before
}
function type() {
  const {codes, why} = parsed($("text").value);
  refuse(why);
  if (!codes) return;
  Object.assign(page, {codes, at: codes.length});
  compute();
  draw();
}

function oneStep() {
  past.remember();
  const before = model.weights.slice(),
    isOwn = $("learned").value === "own",
    learned = isOwn ? page.codes : model.next;
  page.isMixed ||= isOwn;
  const loss = model.step(learned);
  page.losses = [...page.losses, loss];
  const moves = model.weights.map((w, k) => w - before[k]);
  const rows = most(moves, 5).map(k =>
    row([button(given.called[k], () => choose(k)), `${number(before[k])} → ${number(model.weights[k])}`]),
  );
  const about = {n: counted(model.taken), text: written(learned), loss: decimals(loss), own: written(page.codes)};
  const other = about.text === about.own ? "" : filled(" {{microscope.stepped.other}}", about);
  const rule = model.rule.startsWith("Adam") ? "{{microscope.rule.adam}}" : "{{microscope.rule}}";
  $("changed").replaceChildren(
    make("p", "", filled("{{microscope.stepped}}", about), other, " {{microscope.most}}"),
    make("table", "", ...rows),
    make("p", "faint", filled(rule, {rule: model.rule, rate: model.rate})),
  );
  refresh();
}

const clock = makeClock({
  pace: () => 50,
  onTick(count) {
    const end = performance.now() + 25;
    page.losses = page.losses.slice(-200);
    for (let k = 0; k < count && page.left > 0 && performance.now() < end; k++, page.left--) {
      page.losses.push(model.step());
      if (page.left % 100 === 1) refresh();
    }
    if (page.left && !isLost()) return showTraining();
    clock.pause();
    refresh();
  },
  onChange: () => {
    if (!clock.isRunning()) refresh();
    showTraining();
  },
});
function train() {
  if (clock.isRunning()) return stop();
  past.remember();
  $("changed").replaceChildren();
  page.left = MANY;
  clock.start();
}

// ---- Begin

const beginWith = state => () => {
  past.remember();
  begin(state);
  refresh();
};
listen({
  gradients() {
    page.hasGradients = !page.hasGradients;
    draw();
  },
  undo: () => past.undo(),
  reset() {
    past.remember();
    take(readAddress(""));
  },
  "one-step": oneStep,
  train,
  again() {
    page.seed++;
    refresh();
  },
  trained: beginWith("trained"),
  untrained: beginWith("untrained"),
});
listen({text: type}, "input");
listen({text: () => past.states.at(-1)?.kept.codes === page.codes || past.remember()}, "focus");
const setRate = rate => {
  page.isMixed ||= model.taken > 0 && rate !== model.rate;
  model.rate = rate;
};
listenToRate(() => model.rate, setRate);
const within = step => () => {
  const cell = document.activeElement;
  const other = step > 0 ? cell?.nextElementSibling : cell?.previousElementSibling;
  if (cell?.closest(".strip") && other instanceof HTMLElement) other.focus();
};
listenToKeys({
  ArrowLeft: () => goTo(page.at - 1),
  ArrowRight: () => goTo(page.at + 1),
  Home: () => goTo(0),
  End: () => goTo(page.codes.length),
  ArrowUp: within(-1),
  ArrowDown: within(1),
});
explainWords(name => MEANING[name]);

function take(asked) {
  const read = (key, high) => Math.floor(numberFrom(asked.get(key), 0, high) ?? -1);
  begin(model.hasUntrained && asked.has("untrained") ? "untrained" : "trained");
  page.codes = parsed(asked.get("text") ?? "").codes ?? texts[0];
  const {length} = page.codes;
  page.at = asked.has("at") ? Math.max(0, Math.min(read("at"), length)) : length; // the last letter has most to read
  page.hasGradients = asked.has("gradients");
  model.rate = rateFrom(asked.get("rate")) ?? given.optimizer.rate;
  compute();
  const logits = given.logits[page.at],
    best = logits.reduce((best, slot) => (model.memory[slot] > model.memory[best] ? slot : best));
  page.chosen = asked.has("number") ? [read("number", given.size - 1)].filter(slot => slot >= 0) : [best];
  showTyped();
  refresh();
  page.left = Math.min(read("steps"), MOST_STEPS);
  if (page.left > 0) clock.start();
}
$("text").maxLength = 200;
$("end").textContent = filled("{{microscope.end}}", {end: tokens[model.end]});
take(readAddress());
listenToLinks(hash => {
  past.states = [];
  take(readAddress(hash));
});
Object.assign(page, {oneStep, train, isTraining: () => clock.isRunning()}); // for tests
