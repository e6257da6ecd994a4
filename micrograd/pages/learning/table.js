// The points as a table, where no plane can show them: a row for each, a hundred at a time.

import {$, button, make, row, strong} from "../shared/elements.js";
import {rough} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {mixed, theme} from "./canvas.js";
import {pixels} from "./sight.js";
import {attention, choose, experiment} from "./state.js";
import {predicted} from "./training.js";

const ROWS_SHOWN = 100;
export const MOST_COLUMNS = 6; // inputs with a column each

/** @type {any} */
let drawnFor = {}; // what the lines show
let lines = [];

// The inputs of a point as an image, from the smallest number of all points to the largest.
export function imageOf(numbers) {
  const {imageWidth: width, ranges} = experiment,
    [low, high] = [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  const share = x => Math.max(0, Math.min(1, (x - low) / (high - low || 1)));
  return pixels(numbers, width, x => mixed(theme.ground, theme.rgbInk, share(x)));
}

// What the network says of a point: its answer, the right one, and how they compare.
export function answerTo(example) {
  const {training, loss, names, isRegression} = experiment,
    {label, numbers} = example;
  const own = training.program.measure(training.p, example, training.scores),
    {scores} = training;
  if (isRegression) {
    const target = numbers.at(-1);
    return {own, isRight: true, cells: [target, scores[0], scores[0] - target].map(x => rough(x, 3))};
  }
  const guess = predicted(scores, loss.threshold),
    isRight = guess === label;
  return {own, isRight, cells: [names[label], names[guess], isRight ? "✓" : "{{table.wrong}}"]};
}

function build(first) {
  const {examples, inputs, imageWidth, isRegression} = experiment,
    count = inputs.length;
  const shown = numbers => {
    if (imageWidth) return [make("span", "pixels", imageOf(numbers))];
    const some = numbers.slice(0, Math.min(count, MOST_COLUMNS)).map(x => rough(x, 3));
    return count > MOST_COLUMNS ? [`${some.join(", ")}, …`] : some;
  };
  const heads = imageWidth || count > MOST_COLUMNS ? [filled("{{table.inputs}}", {n: count})] : inputs;
  const last = isRegression ? "{{name.difference}}" : "";
  const head = row(["", ...heads, "{{table.target}}", "{{table.answer}}", last], "th");
  lines = examples.slice(first, first + ROWS_SHOWN).map((example, k) => {
    const point = first + k,
      cells = ["", "", ""].map(() => make("td"));
    const pick = () => choose({kind: "point", point});
    const name = button(`${point + 1}${example.test ? " {{plane.test}}" : ""}`, pick);
    const line = row([name, ...shown(example.numbers)]);
    line.append(...cells);
    line.addEventListener("click", pick);
    return {line, cells, example, point};
  });
  $("table").replaceChildren(make("table", "", head, ...lines.map(({line}) => line)));
}

export function drawTable() {
  const {examples, names, inputs} = experiment,
    {point} = attention.chosen,
    first = ROWS_SHOWN * Math.floor((point ?? 0) / ROWS_SHOWN);
  const now = {examples, names, inputs, first, theme};
  if (Object.entries(now).some(([key, value]) => drawnFor[key] !== value)) build(first);
  for (const {line, cells, example, point: own} of lines) {
    const answer = answerTo(example);
    answer.cells.forEach((text, k) => {
      const isWrong = k === 2 && !answer.isRight;
      if (cells[k].textContent !== text) cells[k].replaceChildren(isWrong ? strong(text, "wrong") : text);
    });
    line.classList.toggle("chosen", own === point);
    if (own !== point || drawnFor.point === point) continue;
    const {offsetTop, offsetHeight} = line,
      place = $("table");
    if (offsetTop < place.scrollTop || offsetTop + offsetHeight > place.scrollTop + place.clientHeight)
      place.scrollTop = offsetTop - place.clientHeight / 2;
  }
  drawnFor = {...now, point};
}
