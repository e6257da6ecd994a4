// The small pictures to choose from: the shape of the data, and the class of new points.

import {$, make} from "../shared/elements.js";
import {word} from "../shared/glossary.js";
import {filled} from "../shared/texts.js";
import {theme} from "./canvas.js";
import {markerOf} from "./plane.js";
import {samples} from "./samples.js";
import {aroundPoints} from "./sight.js";
import {attention, change, experiment} from "./state.js";
import {MEANING} from "./words.js";

const NAMES = JSON.parse("{{shape.*}}");

const choice = (isOn, click, ...contents) => make("button", {"aria-pressed": isOn, click}, ...contents);

function shapeButton(shape) {
  const {data, settings} = experiment,
    classes = experiment.given.names.length;
  const small = make("canvas", {width: 96, height: 72});
  const context = small.getContext("2d");
  const own = () => data.examples.map(([x, y, ...rest]) => ({numbers: [x, y], label: rest.at(-1)}));
  const points = shape === "yours" ? own() : samples({...settings, shape, size: 60, noise: 0.02, seed: 1, classes});
  const {low, high} = aroundPoints(points, 4 / 3, shape === "curve");
  for (const {numbers, label} of points.slice(0, 120)) {
    const [x, y] = numbers;
    const [across, up] = [(x - low[0]) / (high[0] - low[0]), (y - low[1]) / (high[1] - low[1])];
    context.fillStyle = theme.fills[label];
    context.beginPath();
    context.arc(96 * across, 72 * (1 - up), 3, 0, 2 * Math.PI);
    context.fill();
  }
  const name = MEANING[shape] ? word(shape, NAMES[shape], false) : NAMES[shape];
  const isOn = shape === settings.data && !experiment.byHand;
  const made = choice(isOn, () => change(() => experiment.useData(shape)), small, name);
  made.dataset.shape = shape;
  return made;
}

function brushButton(name, label) {
  const take = () => {
    attention.brush = label;
    drawChoices();
  };
  const made = choice(label === attention.brush, take, markerOf(label, 2), make("bdi", "", name));
  made.setAttribute("aria-label", filled("{{plane.brush}}", {name}));
  return made;
}

export function drawChoices() {
  $("shapes").replaceChildren(...experiment.shapes.map(shapeButton));
  $("brush").replaceChildren(...(experiment.hasPlane ? experiment.names : []).map(brushButton));
}
