// What a network sees: the outputs of its neurons all over the plane.

import {ofSign, picture, theme} from "./canvas.js";

// The rectangle around the points, with a margin: its corners. Both axes have the same unit, unless they are `free`.
export function aroundPoints(points, ratio, free = false) {
  const ends = k => {
    const all = points.map(({numbers}) => numbers[k] ?? 0);
    return all.length ? [Math.min(...all), Math.max(...all)] : [-1, 1];
  };
  const [[left, right], [bottom, top]] = [ends(0), ends(1)];
  const height = 1.24 * (free ? top - bottom || 1 : Math.max(top - bottom, (right - left) / ratio, 0.5)),
    width = free ? 1.1 * (right - left || 1) : height * ratio;
  const [x, y] = [(left + right) / 2, (bottom + top) / 2];
  return {ratio, low: [x - width / 2, y - height / 2], high: [x + width / 2, y + height / 2]};
}

// The outputs of `count` neurons at columns × rows places, in rows from the bottom.
export function outputsOver({low, high}, columns, rows, program, p, count) {
  const surfaces = Array.from({length: count}, () => new Float32Array(columns * rows));
  const out = new Float64Array(count);
  for (let row = 0; row < rows; row++) {
    const y = low[1] + (row / (rows - 1)) * (high[1] - low[1]);
    for (let column = 0; column < columns; column++) {
      program.look(p, [low[0] + (column / (columns - 1)) * (high[0] - low[0]), y], out);
      for (let k = 0; k < count; k++) surfaces[k][row * columns + column] = out[k];
    }
  }
  return surfaces;
}

// An image of a neuron's outputs; those without bounds are squeezed.
export function mapOf(outputs, columns, rows, activation) {
  const isBounded = ["tanh", "sigmoid"].includes(activation);
  return picture(columns, rows, i => ofSign(isBounded ? outputs[i] : Math.tanh(outputs[i])));
}

const SIDE = 30; // pixels of a small picture

// Numbers as an image of width × width pixels, whose first row is at the top.
export function pixels(numbers, width, colour) {
  const scale = Math.ceil(SIDE / width),
    side = width * scale;
  const at = i => Math.floor((i % side) / scale) + width * (width - 1 - Math.floor(i / side / scale));
  return picture(side, side, i => colour(numbers[at(i)]));
}

// The weights of a neuron: an image where its inputs are one of that width; else a bar for each, upwards if positive.
export function pictureOfWeights(numbers, width = 0) {
  const most = numbers.reduce((most, w) => Math.max(most, Math.abs(w)), 1e-300);
  if (width) return pixels(numbers, width, w => ofSign(w / most));
  return picture(SIDE, SIDE, i => {
    const share = numbers[Math.floor(((i % SIDE) * numbers.length) / SIDE)] / most,
      height = (2 * Math.floor(i / SIDE) + 1) / SIDE - 1;
    return height * share > 0 && Math.abs(height) < Math.abs(share) ? ofSign(Math.sign(share)) : theme.ground;
  });
}
