// The page on which a network learns: connects its parts, and begins. Its state is in learning/state.js.

import {listenToLinks, readAddress, writeAddress} from "./shared/state.js";
import {$, listen} from "./shared/elements.js";
import {explainWords} from "./shared/glossary.js";
import {listenToKeys} from "./shared/keys.js";
import {isPresenting, listenToPresent} from "./shared/present.js";
import {drawArithmetic} from "./learning/arithmetic.js";
import {readTheme, redrawnWhenNeeded} from "./learning/canvas.js";
import {drawChoices} from "./learning/choices.js";
import {STOPS, showControls, turnRate} from "./learning/controls.js";
import {drawDetails} from "./learning/details.js";
import "./learning/hand.js";
import {STARTS} from "./learning/experiment.js";
import {leaveLesson} from "./learning/lessons.js";
import {asAddress, fromAddress} from "./learning/link.js";
import {OPTIMIZERS} from "./learning/optimizers.js";
import {drawPictures} from "./learning/pictures.js";
import {say} from "./learning/sentence.js";
import {addPoint, ask, attention, change, choose, chooseMore, clock, data, experiment} from "./learning/state.js";
import {isFixed, oneStep, panels, setExamples, settings, showAgain, showTrain, train, undo} from "./learning/state.js";
import {MEANING} from "./learning/words.js";

// ---- The address

function keepLink() {
  const {training, sizes, activations, byHand, examples, names, inputs, given} = experiment;
  const shape = isFixed ? {} : {sizes, activation: activations[0]};
  const weights = training.p.length <= 1500 && training.p;
  const {length} = examples,
    points = byHand && length <= 400 && length * inputs.length <= 1600 && examples;
  const called = {names: names !== given.names && names, inputs: inputs !== given.inputs && inputs};
  const own = {points, isRegression: experiment.isRegression, ...called, embed: isEmbedded()};
  writeAddress(() => asAddress({settings, step: training.steps, ...shape, weights, ...own}));
}
// On another site, in a small frame: the buttons, the plane and the network alone.
const isEmbedded = () => document.body.classList.contains("embedded");
function begin(link) {
  document.body.classList.toggle("embedded", readAddress(link).has("embed"));
  const known = {
    data: experiment.shapes,
    loss: Object.values(data.losses).flatMap(list => list.map(l => l.name)),
    optimizer: Object.keys(OPTIMIZERS),
    stop: STOPS,
    init: Object.keys(STARTS),
    activation: Object.keys(data.pieces).filter(n => n !== "weighted"),
  };
  const isLink = [...readAddress(link).keys()].some(key => key !== "embed" && key !== "language");
  attention.chosen = isFixed ? {kind: "table", table: true} : {}; // without a network to press
  experiment.begin(fromAddress(link, known, experiment.given, isFixed), isLink);
}

// ---- The parts of the page

$("playback").remove();
for (const id of ["training", "details", "data-panel", "hint", "more"]) $(id).hidden = false;
// Without layers there are none to change; Reset goes back to the weights from Python.
for (const id of ["layers", "activation-field", "shown", "key-lines", "scripts"]) $(id).hidden = isFixed;
for (const id of ["seed", "init"]) $(id).parentNode.hidden = isFixed;
if (isFixed) $("network").textContent = "{{net.fixed}}";
if (isFixed) $("about").textContent = "{{net.fixed.press}}";

function stepOpened(by) {
  attention.chosen.at = Math.max(0, (attention.chosen.at ?? 0) + by);
  ask();
}
const scale = () => change(() => experiment.scale());
const showLines = hue => () => {
  attention.hue = hue;
  showControls();
  ask();
};
const showScript = script => () => {
  clock.pause();
  chooseMore({kind: "script", script});
};
listen({
  micrograd: showScript("micrograd"),
  pytorch: showScript("PyTorch"),
  train,
  "one-step": oneStep,
  undo,
  reset: () => {
    clock.pause();
    change(() => experiment.startAgain());
  },
  "opened-back": () => stepOpened(-1),
  "opened-forward": () => stepOpened(1),
  "opened-all": () => stepOpened(1e6),
  close: () => chooseMore({kind: "point", neuron: undefined, ...(isFixed && {point: undefined})}),
  "fewer-layers": () => change(() => experiment.addOrRemoveLayer(-1)),
  "more-layers": () => change(() => experiment.addOrRemoveLayer(1)),
  again: () =>
    change(() => {
      settings.sample++;
      experiment.drawExamples();
    }),
  scale,
  "scale-now": scale,
  clear: () => setExamples([], undefined),
  add: () => {
    const {low, high} = experiment.view;
    addPoint(...[0, 1].map(k => Math.round(50 * (low[k] + high[k])) / 100));
    choose({kind: "point", point: experiment.examples.length - 1});
  },
  paste: () => chooseMore({kind: "csv", csv: true}),
  "next-point": () => {
    const {length} = experiment.examples;
    if (length) choose({kind: "point", point: ((attention.chosen.point ?? -1) + 1) % length});
  },
  "show-weights": showLines("weights"),
  "show-gradients": showLines("gradients"),
});

// ---- Drawing

function draw() {
  fitView();
  drawPictures();
  say();
  drawDetails();
  drawArithmetic();
  if (!clock.isRunning()) keepLink();
}
// On a phone the plane is wider than high, to leave room for the knobs below it.
function fitView() {
  experiment.ratio = $("page").clientWidth >= 680 ? 1.3 : attention.isTaught ? 2.4 : 1.6;
  if (experiment.view.ratio !== experiment.ratio) experiment.look();
}
let named = experiment.names; // as the classes are called on the buttons for new points
function showNamed() {
  showControls();
  if (named !== experiment.names) drawChoices();
  named = experiment.names;
}
Object.assign(panels, {draw, controls: showNamed});

// ---- Keys: left and right step everywhere except in text fields, space plays, Escape closes

const close = () => choose({});
// once a neuron was pressed, its arithmetic, too, has the arrows
const isOpened = ({target}) => !$("arithmetic").hidden && target.closest("#arithmetic, .neuron");
const back = event => (isOpened(event) ? stepOpened(-1) : undo());
const forward = event => (isOpened(event) ? stepOpened(1) : oneStep());
// Up and down: the learning rate to the next of 0.1, 0.2, 0.3, ..., a weight by a tenth.
listenToKeys({ArrowRight: forward, ArrowLeft: back, " ": train, Escape: close}, event => {
  const {target, key} = event;
  const up = {ArrowUp: 1, ArrowDown: -1}[key];
  if (key === "Escape") close();
  if (!up || !target.matches("#rate, .weight input")) return;
  event.preventDefault();
  if (target.id === "rate") return turnRate(up > 0);
  target.value = Math.round(10 * (+target.value + 0.1 * up)) / 10;
  target.dispatchEvent(new Event("change"));
});

// Once One step was pressed, a presenter's remote presses it again; on a slide, at any time.
document.addEventListener("keydown", (/** @type {any} */ event) => {
  const action = {PageDown: oneStep, PageUp: undo}[event.key];
  if (!action || !(isPresenting() || event.target.matches("#one-step"))) return;
  event.preventDefault();
  action();
});
listenToPresent(ask);

// ---- Start

readTheme(false);
begin(location.hash);
listenToLinks(hash => {
  clock.pause();
  leaveLesson();
  begin(hash);
  showAgain();
});
redrawnWhenNeeded(isNow => {
  drawChoices();
  showAgain();
  if (isNow) draw();
});
drawChoices();
showControls();
showTrain();
draw();
explainWords(name => MEANING[name]);

// For tests and for the console of the browser.
export const page = {
  numbers: () => [...experiment.training.p],
  train: count => {
    for (let i = 0; i < count; i++) oneStep();
    draw();
  },
  state: () => ({...experiment, chosen: attention.chosen}),
};
