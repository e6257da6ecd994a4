// The page on which a network learns: connects the experiment with its pictures, panels and controls.

import {writeAddress} from "./shared/address.js";
import {$, press} from "./shared/elements.js";
import {explainWords} from "./shared/glossary.js";
import {listenToKeys} from "./shared/keys.js";
import {makeArithmetic} from "./learning/arithmetic.js";
import {oncePerFrame, readTheme, redrawnWhenNeeded} from "./learning/canvas.js";
import {makeChoices} from "./learning/choices.js";
import {makeClock} from "./learning/clock.js";
import {makeControls} from "./learning/controls.js";
import {makeDetails} from "./learning/details.js";
import {Experiment} from "./learning/experiment.js";
import {makeHand} from "./learning/hand.js";
import {makeLessons} from "./learning/lessons.js";
import {asAddress, fromAddress} from "./learning/link.js";
import {makeNetwork} from "./learning/network.js";
import {OPTIMIZERS} from "./learning/optimizers.js";
import {makePictures} from "./learning/pictures.js";
import {SHAPES} from "./learning/samples.js";
import {say} from "./learning/sentence.js";
import {MEANING} from "./learning/words.js";

const MOST_POINTS = 400;

function live(data) {
  const experiment = new Experiment(data),
    {isFixed, settings} = experiment;
  // What one looks at: chosen {kind, point, neuron, weight, at}, the neuron pointed at, and what lines show.
  const attention = {chosen: {}, pointed: null, hue: "weights"};
  const ask = oncePerFrame(() => draw());

  // ---- What is chosen, and changes that can be undone

  function choose(what) {
    attention.chosen = what;
    if (!what[what.kind] && what[what.kind] !== 0)
      attention.chosen = {...what, kind: what.point === undefined ? undefined : "point"};
    ask();
  }
  const chooseMore = what => choose({...attention.chosen, ...what});
  /** What was chosen, without what is gone. @param {any} chosen */
  function stillThere({point, neuron, weight, ...rest}) {
    return {
      ...rest,
      ...(experiment.examples[point] && {point}),
      ...(neuron && experiment.hasNeuron(neuron) && {neuron}),
      ...(weight && experiment.hasWeight(weight) && {weight}),
    };
  }
  function change(what) {
    experiment.remember();
    what();
    experiment.note();
    showAgain();
  }
  function showAgain() {
    choose(stillThere(attention.chosen));
    controls.show();
  }
  function undo() {
    if (lessons.isAsking()) return;
    clock.pause();
    experiment.undo();
    showAgain();
  }

  // ---- Training

  const clock = makeClock({
    pace: () => +$("pace").value,
    onTick: count => {
      experiment.step(count);
      if (experiment.trouble) clock.pause();
      draw();
    },
    onChange: () => {
      showTrain();
      ask();
    },
  });
  function canTrain() {
    if (lessons.isAsking()) return false; // the answer comes first
    if (experiment.trained.length) return true;
    experiment.trouble = "{{train.none}}";
    ask();
    return false;
  }
  function train() {
    if (clock.isRunning()) return clock.pause();
    if (!canTrain()) return;
    experiment.remember();
    Object.assign(experiment, {trouble: "", moved: null});
    clock.start();
    controls.show();
  }
  function oneStep() {
    clock.pause();
    if (!canTrain()) return;
    experiment.remember();
    experiment.stepAndTell();
    $("undo").disabled = false;
    ask();
  }
  function showTrain() {
    $("train").textContent = clock.isRunning() ? "{{train.pause}}" : "{{train.run}}";
    press("train", clock.isRunning());
    for (const id of ["said", "figures"]) $(id).setAttribute("aria-live", clock.isRunning() ? "off" : "polite");
  }

  // ---- Points by hand

  function setExamples(list, point = attention.chosen.point) {
    change(() => {
      Object.assign(experiment, {examples: list, byHand: true});
      attention.chosen = {...attention.chosen, point};
    });
  }
  function addPoint(x, y) {
    const {examples} = experiment,
      added = {x, y, label: choices.brush(), test: false};
    if (examples.length < MOST_POINTS) setExamples([...examples, added]);
  }
  function deletePoint() {
    const {point} = attention.chosen;
    if (point !== undefined)
      setExamples(
        experiment.examples.filter((_, i) => i !== point),
        undefined,
      );
  }
  const withPoint = (point, changed) => experiment.examples.map((e, i) => (i === point ? {...e, ...changed} : e));

  // ---- Drawing

  function draw() {
    fitView();
    pictures.draw();
    say(experiment);
    details.draw();
    arithmetic.draw();
    if (!clock.isRunning()) keepLink();
  }
  // On a phone the plane is wider than high, to leave room for the knobs below it.
  function fitView() {
    experiment.ratio = $("page").clientWidth < 680 ? 1.6 : 1.3;
    const {
      view: {low, high},
      ratio,
    } = experiment;
    if (Math.abs((high[0] - low[0]) / (high[1] - low[1]) - ratio) > 1e-6) experiment.look();
  }

  // ---- The address

  function keepLink() {
    const {training, sizes, activations, byHand, examples} = experiment;
    writeAddress(() =>
      asAddress({
        settings,
        step: training.steps,
        sizes: isFixed ? null : sizes,
        activation: isFixed ? null : activations[0],
        weights: training.p.length <= 1500 ? training.p : null,
        points: byHand ? examples : null,
      }),
    );
  }
  function begin(link) {
    const known = {
      data: [...(data.examples ? ["yours"] : []), ...Object.keys(SHAPES)],
      loss: data.losses.map(l => l.name),
      optimizer: Object.keys(OPTIMIZERS),
      activation: Object.keys(data.pieces).filter(n => n !== "weighted"),
    };
    attention.chosen = isFixed ? {kind: "table", table: true} : {}; // without a network to press
    experiment.begin(fromAddress(link, known, experiment.classes), !!link);
  }

  // ---- The parts of the page

  $("playback").remove();
  for (const id of ["training", "details", "data-panel", "hint", "more"]) $(id).hidden = false;
  // Without layers there are none to change; Reset goes back to the weights from Python.
  for (const part of [
    $("layers"),
    $("activation-field"),
    $("seed").parentNode,
    $("shown"),
    $("key-lines"),
    $("scripts"),
  ])
    part.hidden = isFixed;
  if (isFixed) $("network").textContent = "{{net.fixed}}";
  if (isFixed) $("about").textContent = "{{net.fixed.press}}";

  const pickWeight = weight => chooseMore({kind: "weight", weight});
  const setWeight = (place, number) =>
    change(() => {
      experiment.training.p[place] = number;
    });
  const network = isFixed
    ? null
    : makeNetwork($("network"), {
        onNeuron: (layer, index) => {
          const point = attention.chosen.point ?? (experiment.examples.length ? 0 : undefined);
          chooseMore({kind: "neuron", neuron: {layer, index}, at: 0, point});
          requestAnimationFrame(() => $("arithmetic").scrollIntoView({block: "nearest"}));
        },
        onPoint: (layer, index) => {
          attention.pointed = layer === null ? null : {layer, index};
          ask();
        },
        onLine: (layer, index, input) => pickWeight({layer, index, input}),
        onSize: (layer, by) => change(() => experiment.resize(layer, by)),
      });
  const pictures = makePictures({experiment, attention, clock, network});
  const arithmetic = makeArithmetic({
    experiment,
    attention,
    clock,
    onPick: pickWeight,
    onTurn: (place, steps) => setWeight(place, Math.round(1000 * (experiment.training.p[place] + 0.1 * steps)) / 1000),
  });
  const details = makeDetails($("details"), {
    experiment,
    attention,
    clock,
    onChoose: choose,
    onWeight: setWeight,
    onDelete: deletePoint,
    most: MOST_POINTS,
    onPaste: points =>
      change(() => {
        Object.assign(experiment, {examples: experiment.divided(points), byHand: true});
        experiment.look();
      }),
    onPoint: (point, changed) => setExamples(withPoint(point, changed)),
  });
  const choices = makeChoices(experiment, shape =>
    change(() => {
      settings.data = shape;
      experiment.drawExamples();
    }),
  );
  function stepOpened(by) {
    attention.chosen.at = Math.max(0, (attention.chosen.at ?? 0) + by);
    ask();
  }
  const lines = hue => () => {
    attention.hue = hue;
    controls.show();
    ask();
  };
  const showScript = script => () => {
    clock.pause();
    chooseMore({kind: "script", script});
  };
  const controls = makeControls({
    experiment,
    onChange: change,
    presses: {
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
      "show-weights": lines("weights"),
      "show-gradients": lines("gradients"),
    },
  });
  makeHand($("boundary"), {
    geometry: pictures.geometry,
    examples: () => experiment.examples,
    onAdd: addPoint,
    onChoose: point => choose({kind: "point", point}),
    onDelete: deletePoint,
    onGrab: () => experiment.remember(),
    onDrop: showAgain,
    onMove: (point, x, y) => {
      Object.assign(experiment, {examples: withPoint(point, {x, y}), byHand: true});
      experiment.note();
      ask();
    },
  });

  const lessons = makeLessons({
    experiment,
    onChange: () => {
      clock.pause();
      attention.chosen = {};
      showAgain();
    },
  });

  // ---- Keys: left and right step everywhere except in text fields, space plays, Escape closes

  const close = () => choose({});
  const step =
    (by, action) =>
    ({target}) =>
      $("arithmetic").contains(target) ? stepOpened(by) : action();
  // Up and down: the learning rate to the next of 0.1, 0.2, 0.3, ..., a weight by a tenth.
  listenToKeys({ArrowRight: step(1, oneStep), ArrowLeft: step(-1, undo), " ": train, Escape: close}, event => {
    const {target, key} = event;
    const up = {ArrowUp: 1, ArrowDown: -1}[key];
    if (key === "Escape") close();
    if (!up || !target.matches("#rate, .weight input")) return;
    event.preventDefault();
    if (target.id === "rate") return controls.rate(up > 0);
    target.value = Math.round(10 * (+target.value + 0.1 * up)) / 10;
    target.dispatchEvent(new Event("change"));
  });

  // ---- Start

  readTheme(false);
  begin(location.hash);
  // Another link in the same window. (What the page itself writes into its address is not such an event.)
  addEventListener("hashchange", event => {
    clock.pause();
    lessons.leave();
    begin(new URL(event.newURL).hash);
    showAgain();
  });
  redrawnWhenNeeded(isNow => {
    arithmetic.redraw();
    choices.draw();
    showAgain();
    if (isNow === true) draw();
  });
  choices.draw();
  controls.show();
  showTrain();
  draw();

  // For tests and for the console of the browser.
  return {
    numbers: () => [...experiment.training.p],
    alongStep: shares => experiment.alongStep(shares),
    geometry: pictures.geometry,
    network,
    train: count => {
      for (let i = 0; i < count; i++) oneStep();
      draw();
    },
    state: () => ({
      ...experiment.kept(),
      chosen: attention.chosen,
      model: experiment.model,
      program: experiment.program,
    }),
  };
}

explainWords(name => MEANING[name]);
export const page = live(JSON.parse($("data").textContent));
