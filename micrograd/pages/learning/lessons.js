// Lessons: five questions each, about what is going to happen; the answer lets it happen.
// Their words are lesson.NAME.1.ask, .a, .b, .c and .why in texts/en.toml; an answer without a number or a name is that of several.

import {$, button, make, strong} from "../shared/elements.js";
import {decimals, number, percent} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {attention, clock, experiment, showAgain} from "./state.js";

const TOLD = JSON.parse("{{lesson.*}}");
const GROUND = ["plane", "training", "inside", "details", "data-panel"]; // what waits for the answer

// Two classes, left and right of x1 = 0.
const POINTS = [-1.2, -0.9, -0.7, -0.4, 0.4, 0.7, 0.9, 1.2].map((x, i) => {
  return {numbers: [x, [0.6, -0.7, 0.2, -0.3][i % 4]], label: Number(x > 0), test: false};
});
const one = {points: POINTS, hidden: []}; // a single neuron
const few = {hidden: [8, 8], activation: "tanh"};
const moons = {data: "moons", size: 20, share: 0.5, noise: 0.2, sample: 1, seed: 11, rate: 0.3};
const XOR = [-1, 1].flatMap(x => [-1, 1].map(y => ({numbers: [x, y], label: Number(x !== y), test: false})));
const four = {points: XOR, hidden: [4], activation: "relu", settings: {rate: 0.3}};
// one of these four neurons dies, and the others cannot learn the four points alone
const dying = [-0.8, 0.3, 0, -0.2, 0.2, 0, 0.4, 0.4, 0, 0.9, 0.3, 0, 0, -0.8, -0.2, -0.4, 0];
const rate = (rate, loss = "squared error") => ({rate, loss});

// The questions: {state, trained, weights, rate, train, right}. A question begins with a state, as an address
// has it, and `trained` steps from there. The answer sets `weights` or `rate`, then trains so many steps.
const LESSONS = {
  weight: [
    {state: {...one, weights: [1, 0, 0]}, weights: [3, 0, 0], right: "c"},
    {state: {...one, weights: [1, 0, 0]}, weights: [1, 1, 0], right: "b"},
    {state: {...one, weights: [1, 1, 0]}, weights: [1, 1, 1], right: "a"},
    {state: {...one, weights: [1, 0, 0]}, weights: [-1, 0, 0], right: "b"},
    {state: {...one, weights: [1, 0, 0], settings: rate(1, "cross-entropy")}, train: 1, right: "a"},
  ],
  rate: [
    {state: {...one, weights: [-0.5, 0.5, 0], settings: rate(0.1)}, rate: 0.2, train: 1, right: "b"},
    {state: {...one, weights: [-0.5, 0.5, 0], settings: rate(0.01)}, train: 10, right: "b"},
    {state: {...one, weights: [-0.5, 0.5, 0], settings: rate(0.3)}, train: 10, right: "a"},
    {state: {...one, weights: [-0.5, 0.5, 0], settings: rate(2)}, train: 5, right: "c"},
    {state: {...one, weights: [-0.5, 0.5, 0], settings: rate(2)}, trained: 5, rate: 0.3, train: 50, right: "a"},
  ],
  few: [
    {state: {...few, settings: moons}, train: 10, right: "b"},
    {state: {...few, settings: moons}, trained: 10, train: 90, right: "c"},
    {state: {...few, settings: moons}, trained: 100, train: 900, right: "b"},
    {state: {...few, settings: {...moons, size: 400}}, train: 500, right: "c"},
    {state: {...few, settings: {...moons, decay: 0.03}}, train: 1000, right: "a"},
  ],
  dead: [
    {state: {...four, weights: dying}, train: 1000, right: "b"},
    {state: {...four, weights: dying}, trained: 1000, right: "a"},
    {state: {...four, weights: dying}, trained: 1000, rate: 3, train: 300, right: "b"},
    {state: {...four, weights: dying, activation: "tanh"}, train: 1000, right: "a"},
    {state: {...four, hidden: [8], settings: {rate: 0.3, seed: 11}}, train: 1000, right: "a"},
  ],
};

const TITLES = Object.keys(LESSONS);

// Whether the page has what the lessons need: an MLP with one score, and the usual losses.
const canTeach = ({isFixed, given, activations, data}) =>
  !isFixed &&
  given.inputs.length === 2 &&
  !given.isRegression &&
  given.outputs === 1 &&
  activations.at(-1) === "linear" &&
  ["cross-entropy", "squared error"].every(name => data.losses[1].some(loss => loss.name === name));

/** @type {any} */
let before = null; // what there was before the lesson
let lesson = "",
  asked = 0; // the question

const told = part => TOLD[`${lesson}.${asked + 1}.${part}`] ?? TOLD[`${lesson}.${part}`] ?? TOLD[part];
const figures = () => {
  const {curves, training, settings} = experiment;
  const [loss, test] = [curves.loss, curves.testLoss].map(list => decimals(list.at(-1)));
  const [share, w] = [percent(curves.accuracy.at(-1)), number(training.p[0])];
  const targets = experiment.loss.targets.map(number).join(" {{lesson.or}} ");
  return {loss, test, share, w, rate: settings.rate, targets};
};
const trainFor = (count = 0) => {
  for (let i = 0; i < count; i++) experiment.step();
};
// The page shows another experiment, and only what the lesson needs; what waits for an answer cannot be used.
function teach(parts, isAsking = false) {
  Object.assign(attention, {isTaught: parts.length > 0, asking: isAsking, chosen: {}});
  for (const id of GROUND) $(id).inert = isAsking;
  $("page").classList.toggle("teaching", attention.isTaught);
  $("lesson").replaceChildren(...parts);
  $("lesson").hidden = !attention.isTaught;
  $("sentence").hidden = attention.isTaught;
  clock.pause();
  showAgain();
}
const headed = (...parts) => {
  const title = filled("{{lesson.at}}", {title: TOLD[`${lesson}.title`], n: asked + 1, of: LESSONS[lesson].length});
  return [make("div", "row", make("h2", "", title), button("×", leaveLesson, "{{lesson.leave}}")), ...parts];
};

function askOne(question) {
  asked = question;
  const {state, trained} = LESSONS[lesson][asked];
  experiment.begin({settings: {}, ...state}, true);
  trainFor(trained);
  const {training, settings} = experiment;
  training.backward(experiment.trained);
  const [g] = training.G;
  const from = {...figures(), g: number(g), move: number(Math.abs(settings.rate * g))};
  const answers = ["a", "b", "c"].map(name => button(filled(told(name), from), () => takeAnswer(name, from)));
  teach(headed(make("p", "", filled(told("ask"), from)), make("div", "row", ...answers)), true);
  if (asked) answers[0].focus();
}
function takeAnswer(name, from) {
  const {rate, weights, train, right} = LESSONS[lesson][asked],
    {settings, training} = experiment;
  if (rate) settings.rate = rate;
  if (weights) training.p.set(weights);
  trainFor(train);
  experiment.note();
  const to = Object.fromEntries(Object.entries(figures()).map(([key, said]) => [`${key}2`, said]));
  const answer = filled(told(right), from);
  const verdict = name === right ? strong("{{lesson.right}}") : strong(filled("{{lesson.wrong}}", {answer}), "wrong");
  const isLast = asked === LESSONS[lesson].length - 1;
  const next = isLast ? button("{{lesson.end}}", leaveLesson) : button("{{lesson.next}}", () => askOne(asked + 1));
  next.className = "main";
  const following = TITLES[TITLES.indexOf(lesson) + 1];
  const others = isLast && following ? [button("{{lesson.following}}", () => startLesson(following))] : [];
  const said = filled("{{lesson.predicted}} ", {answer: filled(told(name), from)});
  const texts = [[filled(told("ask"), from)], [said, verdict], [filled(told("why"), {...from, ...to})]];
  teach(headed(...texts.map(parts => make("p", "", ...parts)), make("div", "row", next, ...others)));
  next.focus();
}
// Back to what there was before the lesson.
export function leaveLesson() {
  if (!before) return;
  $("lessons").value = "";
  experiment.past.states = before.states;
  experiment.restore(before.kept);
  before = null;
  teach([]);
}
function startLesson(name) {
  before ??= {kept: experiment.kept(), states: experiment.past.states};
  $("lessons").value = lesson = name;
  askOne(0);
}

$("lessons").append(...TITLES.map(name => new Option(TOLD[`${name}.title`], name)));
$("lessons").hidden = !canTeach(experiment);
$("lessons").addEventListener("change", ({target}) => (target.value ? startLesson(target.value) : leaveLesson()));
