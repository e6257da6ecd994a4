// A network in training: its numbers, and steps that change them.

import {OPTIMIZERS, move} from "./optimizers.js";
import {Random} from "./random.js";

export class Training {
  // program: functions of flat.js; weights: the parameters at the start; outputs: number of scores
  constructor(program, weights, outputs) {
    this.program = program;
    this.p = Float64Array.from(weights);
    this.G = new Float64Array(this.p.length);
    this.scores = new Float64Array(outputs);
    this.memory = {};
    this.steps = 0; // of training so far
    this.updates = 0; // since the memory of the optimizer was empty
    this.queue = []; // examples that this epoch has not used yet
    this.random = new Random(0);
  }

  // All that a step changes, to go back to.
  kept() {
    const {p, steps, updates, queue, random, memory} = this;
    return structuredClone({p, steps, updates, queue, state: random.state, memory});
  }
  restore(kept) {
    const {state, ...rest} = structuredClone(kept);
    Object.assign(this, rest);
    this.G = new Float64Array(this.p.length);
    this.random.state = state;
  }

  // What the optimizer remembers of each parameter; another optimizer starts afresh.
  remembered(name) {
    const kinds = OPTIMIZERS[name].memory;
    if (kinds.some(kind => !this.memory[kind]) || Object.keys(this.memory).length !== kinds.length) {
      this.memory = Object.fromEntries(kinds.map(kind => [kind, new Float64Array(this.p.length)]));
      this.updates = 0;
    }
    return this.memory;
  }

  // The examples of the next step, which leave the queue.
  batch(examples, size) {
    if (size >= examples.length) return examples;
    if (!this.queue.length || this.queue.some(i => i >= examples.length))
      this.queue = this.random.shuffled(examples.map((_, i) => i));
    return this.queue.splice(0, size).map(i => examples[i]);
  }

  // The gradients of the mean loss of the examples, in G. They are added up as the engine does it, from
  // the last example to the first: Adam would make a difference of a rounding visible.
  backward(examples) {
    const {p, G, program} = this,
      each = 1 / examples.length;
    G.fill(0);
    for (let i = examples.length - 1; i >= 0; i--) program.learn(p, G, examples[i], each);
  }

  // One step: gradients of a batch, then an update of each parameter.
  step(examples, settings) {
    const batch = this.batch(examples, settings.batch);
    if (!batch.length) return;
    this.backward(batch);
    const memory = this.remembered(settings.optimizer);
    move(OPTIMIZERS[settings.optimizer], this.p, this.G, memory, {...settings, t: ++this.updates});
    this.steps++;
  }

  // What the next step would do with parameter i, for the gradients in G.
  nextOf(i, settings) {
    const {memory, updates} = this;
    const known = OPTIMIZERS[settings.optimizer].memory,
      isKept = known.every(name => memory[name]);
    const own = Object.fromEntries(known.map(name => [name, isKept ? memory[name][i] : 0]));
    const t = isKept ? updates + 1 : 1;
    return OPTIMIZERS[settings.optimizer].update(this.p[i], this.G[i], own, {...settings, t});
  }

  // Mean loss and accuracy of the examples; null without examples. `classes`: [right, all] of each class.
  judged(examples, threshold) {
    if (!examples.length) return {loss: null, accuracy: null, classes: []};
    let loss = 0,
      right = 0;
    const classes = [];
    for (const example of examples) {
      loss += this.program.measure(this.p, example, this.scores);
      const isRight = Number(predicted(this.scores, threshold) === example.label);
      const own = (classes[example.label] ??= [0, 0]);
      own[0] += isRight;
      own[1]++;
      right += isRight;
    }
    return {loss: loss / examples.length, accuracy: right / examples.length, classes};
  }
}

// The class with the largest score; of a single score, 1 above the threshold.
export function predicted(scores, threshold) {
  if (scores.length === 1) return scores[0] > threshold ? 1 : 0;
  return scores.reduce((best, score, k) => (score > scores[best] ? k : best), 0);
}
