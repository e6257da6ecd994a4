// Curves over the steps of training: one or two lines, the second dashed, and a dot at the present.

import {$} from "../shared/elements.js";
import {decimals, percent, short} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {em, prepared, roomFor, theme, ticks, trace} from "./canvas.js";

const CURVES = {loss: "{{curve.loss}}", accuracy: "{{curve.accuracy}}"};

// A curve of the page, and what it says of the present: numbers of the training points, and of others or null,
// for which `both` is the text.
export function showCurve(id, {steps, unit, main, other, now, height, both}) {
  const top = id === "accuracy" ? 1 : 0;
  const text = top ? percent : decimals;
  const lines = [{numbers: main, colour: theme.ink}];
  if (other) lines.push({numbers: other, colour: theme.faint, dashed: true});
  drawCurves($(id), {steps, unit, lines, now, top, height});
  const trained = text(main[now]);
  const numbers = other ? filled(both, {trained, tested: text(other[now])}) : trained;
  $(`${id}-now`).textContent = numbers;
  $(id).setAttribute("aria-label", filled(CURVES[id], {numbers}));
}

// steps: where the numbers are, counted in `unit`; lines: [{numbers, colour, dashed}], null where a number
// is not known; now: the index of the present; top: the upper end of the axis, 0 for the largest number.
function drawCurves(canvas, {steps, unit, lines, now, top, height}) {
  const [context, width] = prepared(canvas, height);
  const known = lines.flatMap(({numbers}) => numbers.filter(y => y !== null && Number.isFinite(y)));
  const sorted = known.sort((a, b) => a - b),
    most = sorted.at(-1) ?? 1;
  // A few losses out of all proportion would press the rest of the curve flat: then the axis has powers of ten.
  const isLog = !top && sorted[0] >= 0 && most > 10 * sorted[Math.floor(0.9 * (sorted.length - 1))];
  const scale = value => (isLog ? Math.log10(Math.max(value, most * 1e-6)) : value);
  const low = isLog ? Math.floor(scale(sorted[0])) : Math.min(0, sorted[0] || 0),
    high = top || (isLog ? Math.ceil(scale(most)) : upperEnd(low, Math.max(most, 1e-9)));
  const marks = ticks(low, high, 3).map(([at, text]) => {
    const value = isLog ? 10 ** at : at;
    return [value, top ? `${Math.round(100 * value)}%` : isLog ? short(value) : text];
  });
  const box = {left: roomFor(marks, 5), right: width - 8, top: 0.6 * em(), bottom: height - 1.33 * em()};
  const first = steps[0] || 0,
    end = Math.max(first + 1, steps[steps.length - 1] || 0);
  const x = i => box.left + ((steps[i] - first) / (end - first)) * (box.right - box.left);
  const y = value => box.bottom - ((Math.min(scale(value), high) - low) / (high - low)) * (box.bottom - box.top);

  const right = {textAlign: "right", textBaseline: "middle"};
  Object.assign(context, {strokeStyle: theme.hairline, lineWidth: 1, fillStyle: theme.faint, ...right});
  for (const [value, text] of marks) {
    const ends = [box.left, box.right].map(x => [x, y(value)]);
    trace(context, ends);
    context.fillText(text, box.left - 5, y(value));
  }
  context.textBaseline = "top";
  context.textAlign = "left";
  if (isLog) context.fillText("{{curve.log}}", box.left + 4, box.top);
  const last = filled("{{curve.end}}", {n: end, unit});
  context.textAlign = "right";
  context.fillText(last, width, box.bottom + 4);
  context.textAlign = "center";
  for (const [step, text] of ticks(first, end, 3)) {
    const place = box.left + ((step - first) / (end - first)) * (box.right - box.left);
    const isFree = place + context.measureText(text).width < width - context.measureText(last).width - 12;
    if (Number.isInteger(step) && isFree) context.fillText(text, place, box.bottom + 4);
  }
  const draw = (numbers, strokeStyle, lineWidth) => {
    Object.assign(context, {strokeStyle, lineWidth, lineJoin: "round"});
    const points = numbers.map((n, i) => n !== null && [x(i), y(n)]);
    trace(context, points);
  };
  for (const {numbers, colour, dashed} of lines) {
    context.setLineDash(dashed ? [4, 3] : []);
    if (now < steps.length - 1) draw(numbers, theme.frame, 1.5);
    draw(numbers.slice(0, now + 1), colour, 2);
    context.setLineDash([]);
    if (numbers[now] === null || numbers[now] === undefined) continue;
    context.beginPath(); // a dot and a ring, both seen where they meet
    context.arc(x(now), y(numbers[now]), dashed ? 6 : 3.5, 0, 2 * Math.PI);
    context.fillStyle = colour;
    if (!dashed) context.fill();
    else context.stroke();
  }
}

// The round number above all others, where an axis ends.
function upperEnd(low, most) {
  const rounds = ticks(low, most, 3).map(([place]) => place),
    top = rounds.at(-1) ?? most;
  return top >= most * (1 - 1e-9) || rounds.length < 2 ? Math.max(most, top) : 2 * top - rounds.at(-2);
}
