// Points in the plane to learn from: the shapes of micrograd.datasets, and xor. Pure.

import {Random} from "./random.js";
import {formulaFrom} from "./typed.js";

// Each shape is a function of the class, of the place along it from 0 to 1, and of a generator.
export const SHAPES = {
  moons(label, along) {
    const x = Math.cos(Math.PI * along),
      y = Math.sin(Math.PI * along);
    return label ? [1 - x, 0.5 - y] : [x, y];
  },
  circles(label, along, _, classes) {
    const radius = 1 - (0.6 * label) / (classes - 1),
      angle = 2 * Math.PI * along;
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  },
  spirals(label, along, _, classes) {
    const radius = 0.1 + 0.9 * along,
      angle = 2 * Math.PI * (along + label / classes);
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  },
  xor(label, _, random) {
    const x = random.uniform(0.1, 1),
      y = random.uniform(0.1, 1),
      side = random.next() < 0.5 ? -1 : 1;
    return [side * x, label ? -side * y : side * y];
  },
  formula: () => [0, 0], // what is typed decides, see below
  // x and a number to predict
  curve: (_, along) => [4 * along - 2, Math.sin(8 * along - 4)],
};
export const ONLY_TWO = ["moons", "xor", "formula"]; // shapes of two classes

export const asKept = x => +x.toFixed(4); // as an address keeps it

// Examples {numbers, label}.
export function samples({shape, size, noise, seed, classes, formula}) {
  const random = new Random(seed),
    examples = [];
  if (shape === "formula") {
    const {isRegression, at} = /** @type {any} */ (formulaFrom(formula));
    for (let i = 0; i < 50 * size && examples.length < size; i++) {
      const [x, y] = [random.uniform(-2, 2), random.uniform(-1.5, 1.5)],
        told = at(x, y);
      const numbers = isRegression ? [x, told + noise * random.normal()] : [x, y].map(z => z + noise * random.normal());
      if (numbers.every(Number.isFinite))
        examples.push({numbers: numbers.map(asKept), label: isRegression ? 0 : +told});
    }
    return examples;
  }
  const used = shape === "curve" ? 1 : ONLY_TWO.includes(shape) ? 2 : classes,
    across = shape === "curve" ? 0 : noise;
  for (let label = 0; label < used; label++) {
    const count = Math.floor((size + used - 1 - label) / used);
    for (let i = 0; i < count; i++) {
      const along = shape === "circles" ? i / count : i / Math.max(1, count - 1);
      const [x, y] = SHAPES[shape](label, along, random, classes);
      examples.push({numbers: [x + across * random.normal(), y + noise * random.normal()], label});
    }
  }
  return random.shuffled(examples).map(({numbers, label}) => ({numbers: numbers.map(asKept), label}));
}
