// Optimizers: their update rules, as pieces.py recorded them.

import {built, expression} from "../shared/rules.js";

// {memory, update(w, g, own, {rate, decay, t})}: `own` is what the optimizer remembers of the parameter w, by the
// names in `memory`, and t the number of this step, from 1. update() returns all figures on the way, the last one
// called `next`; those named in `memory` are kept for the next step.
export function optimizerOf({memory, steps, figures}) {
  const lines = steps.map((step, i) => `const v${i} = ${expression(step, x => x)};`);
  const told = Object.entries(figures).map(([figure, text]) => `${figure}: ${text}`);
  const given = `w, g, {${memory}}, {rate, decay, t}`;
  return {memory, update: built(`(${given}) => { ${lines.join(" ")} return {w, g, ${told}}; }`)};
}

// Moves the parameters p by their gradients G; `kept` are arrays of what the optimizer remembers, by name.
export function move({memory, update}, p, G, kept, settings) {
  const own = {};
  for (let i = 0; i < p.length; i++) {
    for (const name of memory) own[name] = kept[name][i];
    const figures = update(p[i], G[i], own, settings);
    for (const name of memory) kept[name][i] = figures[name];
    p[i] = figures.next;
  }
}

export const OPTIMIZERS = {}; // those that the page of training offers, by name
export function useOptimizers(rules) {
  for (const [name, rule] of Object.entries(rules)) OPTIMIZERS[name] = optimizerOf(rule);
}
