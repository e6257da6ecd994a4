// The state of the page of training, and what changes it. It knows no panel of the page: playground.js says which
// functions draw.

import {$, press} from "../shared/elements.js";
import {oncePerFrame} from "./canvas.js";
import {makeClock} from "./clock.js";
import {Experiment} from "./experiment.js";

export const MOST_POINTS = 2000;

export const experiment = new Experiment(JSON.parse($("data").textContent));
export const {data, isFixed, settings} = experiment; // what it keeps

/** @type {any} */
export const attention = {
  chosen: {}, // what one looks at: {kind, point, neuron, weight, at}
  pointed: null, // the neuron pointed at
  hue: "weights", // what the lines of the network show
  brush: 0, // the class of new points
  isTaught: false, // whether a lesson goes on
  asking: false, // whether a lesson waits for an answer
};

// The functions that draw everything, and that bring the controls to the present state.
export const panels = {draw: () => {}, controls: () => {}};

/** Scrolls a panel into view, below the plane where that stays in view. */
export function reveal(panel) {
  const plane = $("plane");
  const covered = getComputedStyle(plane).position === "sticky" ? plane.offsetHeight : 0;
  panel.style.scrollMarginTop = `${covered + 8}px`;
  panel.scrollIntoView({block: covered ? "start" : "nearest"});
}

export const ask = oncePerFrame(() => panels.draw());

// ---- What is chosen, and changes that can be undone

export function choose(what) {
  attention.chosen = what;
  if (!what[what.kind] && what[what.kind] !== 0)
    attention.chosen = {...what, kind: what.point === undefined ? undefined : "point"};
  ask();
}
export const chooseMore = what => choose({...attention.chosen, ...what});

/** What was chosen, without what is gone. @param {any} chosen */
function stillThere({point, neuron, weight, ...rest}) {
  return {
    ...rest,
    ...(experiment.examples[point] && {point}),
    ...(neuron && experiment.hasNeuron(neuron) && {neuron}),
    ...(weight < experiment.training.p.length && {weight}),
  };
}
export function change(what) {
  experiment.past.remember();
  what();
  experiment.note();
  showAgain();
}
export function showAgain() {
  choose(stillThere(attention.chosen));
  panels.controls();
}
export function undo() {
  if (attention.asking) return;
  clock.pause();
  experiment.past.undo();
  showAgain();
}
export const setWeight = (place, number) => change(() => (experiment.training.p[place] = number));

// ---- Training

export const clock = makeClock({
  pace: () => +$("pace").value,
  onTick: count => {
    experiment.step(count);
    if (experiment.trouble || experiment.isGoodEnough) clock.pause();
    panels.draw();
  },
  onChange: () => {
    showTrain();
    ask();
  },
});
const canTrain = () => !attention.asking && experiment.trained.length > 0; // an answer comes first
export function train() {
  if (clock.isRunning()) return clock.pause();
  if (!canTrain()) return;
  experiment.past.remember();
  experiment.moved = null;
  clock.start();
  panels.controls();
}
export function oneStep() {
  clock.pause();
  if (!canTrain()) return;
  experiment.past.remember();
  experiment.stepAndTell();
  $("undo").disabled = false;
  ask();
}
export function showTrain() {
  $("train").textContent = clock.isRunning() ? "{{train.pause}}" : "{{train.run}}";
  press("train", clock.isRunning());
  for (const id of ["said", "figures"]) $(id).setAttribute("aria-live", clock.isRunning() ? "off" : "polite");
}

// ---- Points by hand

export function setExamples(list, point = attention.chosen.point) {
  change(() => {
    Object.assign(experiment, {examples: list, byHand: true});
    experiment.keepInSight();
    attention.chosen = {...attention.chosen, point};
  });
}
export function addPoint(x, y) {
  const added = {numbers: [x, y], label: experiment.isCurve ? 0 : attention.brush, test: false};
  if (experiment.examples.length < MOST_POINTS) setExamples([...experiment.examples, added]);
}
export function deletePoint() {
  const {point} = attention.chosen;
  const others = experiment.examples.filter((_, i) => i !== point);
  if (point !== undefined) setExamples(others, undefined);
}
export const withPoint = (point, changed) => experiment.examples.map((e, i) => (i === point ? {...e, ...changed} : e));
