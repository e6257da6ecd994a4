// The panel of details: the point, the weight or the table that was chosen; at first, how it all works.

import {button} from "../shared/elements.js";
import {filled} from "../shared/texts.js";
import {introduction, pointPanel, tablePanel, weightPanel} from "./figures.js";
import {predicted} from "./training.js";

//   attention    {chosen, ...}: what one looks at, as in live.js;  clock: whether it trains
//   onChoose(what)  something else was chosen;  onWeight(place, number): a weight was typed
//   onPoint(i, change)  a point was changed by numbers;  onDelete()  the chosen point is to go
export function makeDetails(place, {experiment, attention, clock, onChoose, onWeight, onPoint, onDelete}) {
  let frames = 0;
  const closing = () => button("×", () => onChoose({}), "{{details.close}}");
  const introduced = () =>
    introduction(experiment.training.p.length, () => onChoose({...attention.chosen, kind: "table", table: true}));

  function draw() {
    const {chosen} = attention,
      {training} = experiment,
      focus = document.activeElement;
    const held = place.contains(focus) ? focus.getAttribute("aria-label") : null;
    let parts;
    if (chosen.kind === "table" && clock.isRunning() && ++frames % 10) return;
    if (chosen.kind === "weight") parts = weightDetail();
    else if (chosen.kind === "table") parts = tableDetail();
    else if (chosen.point !== undefined) parts = pointDetail();
    else if (place.dataset.shown === String(training.p.length)) return;
    else parts = introduced();
    place.dataset.shown = chosen.kind ? "" : training.p.length;
    if (held && focus.matches("input, select") && clock.isRunning()) return; // somebody types
    place.replaceChildren(...parts);
    if (held) [...place.querySelectorAll("[aria-label]")].find(e => e.ariaLabel === held)?.focus();
  }

  function tableDetail() {
    const {training, model, settings, settingsOfStep, trained} = experiment;
    const top = place.querySelector(".scroll")?.scrollTop;
    if (!trained.length) return introduced();
    requestAnimationFrame(() => {
      place.querySelector(".scroll")?.scrollTo(0, top ?? 0);
    });
    training.backward(trained);
    const rows = model.parameters.map((_, i) => {
      const weight = experiment.weightAt(i);
      return {
        name: experiment.weightName(weight),
        figures: training.nextOf(i, settingsOfStep),
        onPick: () => onChoose({...attention.chosen, kind: "weight", weight}),
      };
    });
    return tablePanel({rows, optimizer: settings.optimizer, onClose: closing()});
  }

  function weightDetail() {
    const {weight} = attention.chosen,
      {training, settings, settingsOfStep, trained, isFixed} = experiment;
    if (!trained.length) return introduced();
    const at = experiment.placeOf(weight),
      size = 0.01;
    const figures = training.figures(at, trained, settingsOfStep);
    const neuron = isFixed ? "" : experiment.neuronName(weight.layer, weight.index);
    const isBias = experiment.isBias(weight);
    return weightPanel({
      name: experiment.weightName(weight),
      from: isFixed
        ? "{{weight.parameter}}"
        : isBias
          ? filled("{{weight.bias}}", {neuron})
          : experiment.neuronName(weight.layer - 1, weight.input),
      to: isBias ? "" : neuron,
      figures,
      optimizer: settings.optimizer,
      settings: settingsOfStep,
      nudge: {size, predicted: size * figures.g, actual: experiment.nudged(at, size)},
      onSet: number => onWeight(at, number),
      onClose: closing(),
    });
  }

  function pointDetail() {
    const {point} = attention.chosen,
      {training, data, loss, isFixed} = experiment;
    const {x, y, label, test} = experiment.examples[point];
    const own = training.program.measure(training.p, x, y, label, training.scores);
    const parts = pointPanel({
      at: [x, y],
      label,
      names: data.names,
      test,
      scores: [...training.scores],
      loss: own,
      guess: predicted(training.scores, loss.threshold),
      onMove: (x, y) => onPoint(point, {x, y}),
      onLabel: k => onPoint(point, {label: k}),
      onDelete,
      onClose: closing(),
    });
    return isFixed ? parts.slice(0, 3) : parts;
  }

  return {draw};
}
