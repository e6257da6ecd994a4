// The controls of training, data and network: what they show, and what happens when they are used.

import {$, listen} from "../shared/elements.js";
import {word} from "../shared/glossary.js";
import {numberFrom} from "../shared/numbers.js";
import {listenToRate, showRate} from "../shared/rate.js";
import {filled} from "../shared/texts.js";
import {OPTIMIZERS} from "./optimizers.js";
import {drawLegend} from "./plane.js";
import {formulaFrom} from "./typed.js";
import {change, data, experiment, isFixed, settings} from "./state.js";

const RATES = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 3, 10];
const PENALTIES = [0, 0.0001, 0.001, 0.01, 0.03, 0.1, 0.3];
const MOST_LAYERS = 5;
export const STOPS = ["", "loss 0.1", "loss 0.01", "accuracy 0.95", "accuracy 1"];
const LOSSES = JSON.parse("{{loss.*}}"); // by the names that playground.py and an address call them

function set(name, value, then = () => {}) {
  if (settings[name] !== value)
    change(() => {
      settings[name] = value;
      then();
    });
}

let shownFormula = "";
/** Brings the controls to the present state. */
export function showControls() {
  const {hidden, activations, tested, loss, losses, outputs, isRegression, hasPlane, byHand} = experiment,
    isYours = settings.data === "yours";
  const distance = r => Math.abs(Math.log(r / settings.rate));
  showRate(settings.rate);
  const nearest = RATES.reduce((best, r) => (distance(r) < distance(best) ? r : best));
  $("rate-slider").value = RATES.indexOf(nearest);
  $("rate-slider").setAttribute("aria-valuetext", settings.rate);
  for (const id of ["seed", "optimizer", "stop", "init"]) $(id).value = settings[id];
  selectNumber("decay", settings.decay, String(settings.decay));
  selectNumber("batch", settings.batch, filled("{{playground.batch.some}}", {n: settings.batch}));
  $("loss-name").replaceChildren(...losses.map(({name}) => new Option(LOSSES[name] ?? name, name)));
  $("loss-name").value = loss.name;
  $("loss-name").disabled = losses.length < 2;
  for (const id of ["accuracy-figure", "per-class"]) $(id).hidden = isRegression;
  $("formula-field").hidden = settings.data !== "formula" || byHand;
  if (shownFormula !== settings.formula) refuseFormula(""); // else what was refused is still told
  shownFormula = settings.formula;
  for (const id of ["boundary", "hint", "add"]) $(id).hidden = !hasPlane;
  for (const id of ["scale", "table"]) $(id).hidden = hasPlane;
  $("brush").hidden = isRegression || !hasPlane;
  for (const id of ["noise", "size", "share"]) {
    $(id).value = settings[id];
    $(id).parentNode.querySelector("output").textContent =
      id === "share" ? `${Math.round(100 * settings[id])}%` : settings[id];
  }
  for (const id of ["noise", "size", "again"]) $(id).disabled = isYours;
  for (const shape of $("shapes").children)
    shape.setAttribute("aria-pressed", shape.dataset.shape === settings.data && !experiment.byHand);
  $("undo").disabled = !experiment.past.states.length;
  if (!isFixed) {
    const layers = filled("{{net.hidden}}", {n: hidden.length});
    $("layer-count").replaceChildren(`${hidden.length} `, word("layers", layers));
    $("fewer-layers").disabled = !hidden.length;
    $("more-layers").disabled = hidden.length >= MOST_LAYERS;
    $("activation-field").hidden = !hidden.length;
    if (hidden.length) $("activation").value = activations[0];
  }
  drawLegend($("legend"), isRegression || !hasPlane ? [] : experiment.names, {
    threshold: outputs === 1 ? loss.threshold : null,
    hollow: tested.length && hasPlane ? "{{plane.test}}" : "",
  });
}
// Selects a number; one from Python that the list does not have is added.
function selectNumber(id, value, text) {
  const list = $(id);
  if (![...list.options].some(o => +o.value === value)) list.append(new Option(text, value));
  list.value = value;
}

export function turnRate(up) {
  const now = settings.rate;
  const next = up ? RATES.find(r => r > now * 1.001) : RATES.findLast(r => r < now * 0.999);
  if (next) set("rate", next);
}

// ---- What there is to choose from, and what a choice does

const options = names => names.map(name => new Option(name, name));
$("optimizer").append(...options(Object.keys(OPTIMIZERS)));
$("activation").append(...options(Object.keys(data.pieces).filter(name => name !== "weighted")));
const penalty = x => (x === 0 ? "{{rate.none}}" : String(x));
$("decay").append(...PENALTIES.map(x => new Option(penalty(x), String(x))));

const stopText = (kind, x) => (kind === "loss" ? `{{term.loss}} ${x}` : filled("{{stop.accuracy}}", {x: 100 * x}));
$("stop").append(...STOPS.map(text => new Option(text ? stopText(...text.split(" ")) : "{{stop.never}}", text)));

function refuseFormula(text) {
  $("formula").value = text || settings.formula;
  $("refusedFormula").textContent = text && filled("{{formula.refused}}", {got: text});
}
const setRate = rate => set("rate", rate);
listenToRate(() => settings.rate, setRate);
const choices = {
  seed({target}) {
    const seed = numberFrom(target.value, 0);
    const again = () => isFixed || experiment.startAgain();
    if (seed !== undefined) set("seed", Math.round(seed), again);
    showControls();
  },
  init: ({target}) => set("init", target.value, () => experiment.startAgain()),
  batch: ({target}) => set("batch", +target.value, () => (experiment.training.queue = [])),
  optimizer: ({target}) => set("optimizer", target.value),
  decay: ({target}) => set("decay", +target.value),
  "loss-name": ({target}) => set("loss", target.value, () => experiment.useLoss()),
  stop: ({target}) => set("stop", target.value),
  formula({target: {value}}) {
    const found = formulaFrom(value);
    if (!found || (isFixed && found.isRegression)) return refuseFormula(value);
    set("formula", value, () => experiment.drawExamples());
    refuseFormula("");
  },
  activation: ({target}) => change(() => experiment.bend(target.value)),
};
listen(choices, "change");
const slide = ({target}) =>
  set(target.id, +target.value, () => {
    if (experiment.byHand) experiment.examples = experiment.divided(experiment.examples);
    else experiment.drawExamples();
  });
const turn = ({target}) => set("rate", RATES[+target.value]);
listen({"rate-slider": turn, noise: slide, size: slide, share: slide}, "input");
