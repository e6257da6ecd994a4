// The update rules of optimizers, as updates.py recorded them.

import {built, expression} from "../shared/program.js";

// By name {memory, update(w, g, own, {rate, decay, t})}: `own` is what the optimizer remembers of the parameter w,
// by the names in `memory`, and t the number of this step, from 1. update() returns all figures on the way, the
// last one called `next`; those named in `memory` are kept for the next step.
export const OPTIMIZERS = {};

export function useOptimizers(rules) {
  for (const [name, {memory, steps, figures}] of Object.entries(rules)) {
    const lines = steps.map((step, i) => `const v${i} = ${expression(step, x => x)};`);
    const told = Object.entries(figures).map(([figure, text]) => `${figure}: ${text}`);
    const given = `w, g, {${memory}}, {rate, decay, t}`;
    OPTIMIZERS[name] = {memory, update: built(`(${given}) => { ${lines.join(" ")} return {w, g, ${told}}; }`)};
  }
}
