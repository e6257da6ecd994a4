// The model: its memory, its program, and its optimizer. Knows no element of the page.

import {Random} from "../learning/random.js";
import {OPERATIONS, run, unpacked} from "./table.js";

export class Model {
  constructor(given) {
    const {size, ops, constants, optimizer} = given;
    this.given = given;
    this.n = given.losses.length; // positions
    this.hasUntrained = given.start.trained !== given.start.untrained;
    this.count = given.called.length;
    this.end = given.tokens.length - 1;
    const Kind = size < 65536 ? Uint16Array : Uint32Array;
    // One kind of array for all tables, so that the interpreter is compiled for it.
    this.tables = given.tables.map(text => Int32Array.from(unpacked(text, Kind)));
    this.operations = ops.map(name => OPERATIONS[name]);
    this.memory = new Float64Array(size);
    for (const [slot, x] of constants) this.memory[slot] = Number(x);
    this.weights = this.memory.subarray(0, this.count); // they come first, then the inputs
    this.gradOf = new Map(given.gradOf);
    for (let k = 0; k < this.count; k++) this.gradOf.set(k, given.gradients[k]);
    this.placeOf = new Map(); // where the instruction of each result is
    for (const table of this.tables)
      for (let i = 0; i < table.length; i += 3 + table[i + 2]) this.placeOf.set(table[i + 1], [table, i]);
    this.rule = ruleOf(optimizer);
    this.rate = optimizer.rate;
    this.begin(this.hasUntrained ? "trained" : "untrained");
  }

  // The weights before or after the training in Python, with the moments of the optimizer that belong to them.
  begin(state) {
    const {start, optimizer} = this.given;
    const isFresh = this.hasUntrained && state === "untrained";
    this.state = state;
    this.weights.set(unpacked(start[state], Float64Array));
    this.kept = optimizer.memory.map(name =>
      isFresh ? new Float64Array(this.count) : unpacked(optimizer.kept[name], Float64Array),
    );
    this.time = isFresh ? 0 : optimizer.step; // the steps that the optimizer has counted
    this.taken = 0; // the steps taken on this page
  }

  // The input: the token before each position, the one that follows, and the weight of the position in the loss.
  load(codes) {
    const {n, end, memory, count} = this;
    for (let p = 0; p < n; p++) {
      memory[count + p] = p ? (codes[p - 1] ?? end) : end;
      memory[count + n + p] = codes[p] ?? end;
      memory[count + 2 * n + p] = p <= codes.length ? 1 / (codes.length + 1) : 0;
    }
  }
  forward() {
    run(this.tables[0], this.operations, this.memory);
    return this.memory[this.given.loss];
  }
  backward() {
    run(this.tables[1], this.operations, this.memory);
  }

  // The instruction that computes a number: its operation, and where its operands are.
  operation(slot) {
    const [table, i] = this.placeOf.get(slot);
    return {op: this.given.ops[table[i]], slots: [...table.subarray(i + 3, i + 3 + table[i + 2])]};
  }

  // One training step with the next text; returns its loss.
  step() {
    const {texts, gradients, optimizer} = this.given;
    const {memory, weights, kept} = this;
    const {once, each, operations, registers, results, next} = this.rule;
    this.load(texts[this.taken % texts.length]);
    const loss = this.forward();
    this.backward();
    this.time++;
    this.taken++;
    registers.set([this.rate, optimizer.decay, this.time], 2);
    run(once, operations, registers);
    for (let k = 0; k < this.count; k++) {
      registers[0] = weights[k];
      registers[1] = memory[gradients[k]];
      for (let j = 0; j < kept.length; j++) registers[5 + j] = kept[j][k];
      run(each, operations, registers);
      weights[k] = registers[next];
      for (let j = 0; j < kept.length; j++) kept[j][k] = registers[results[j]];
    }
    return loss;
  }

  // Everything that training changes.
  saved() {
    const {state, time, taken, rate, weights, kept} = this;
    return {state, time, taken, rate, weights: weights.slice(), kept: kept.map(own => own.slice())};
  }
  restore({weights, kept, ...rest}) {
    this.weights.set(weights);
    Object.assign(this, rest, {kept: kept.map(own => own.slice())});
  }

  // The probabilities of the tokens that may follow at a position, from its logits.
  probabilities(position, temperature = 1) {
    const logits = this.given.logits[position].map(slot => this.memory[slot] / temperature);
    const most = Math.max(...logits);
    const powers = logits.map(z => Math.exp(z - most));
    const total = powers.reduce((sum, e) => sum + e, 0);
    return powers.map(e => e / total);
  }

  // A new text, whose tokens are drawn with their probabilities.
  invented(seed, temperature) {
    const random = new Random(seed);
    const codes = [];
    while (codes.length < this.n - 1) {
      this.load(codes);
      this.forward();
      const shares = this.probabilities(codes.length, temperature);
      if (!codes.length) shares[this.end] = 0; // a text has at least one token
      let rest = random.next() * shares.reduce((sum, x) => sum + x, 0);
      let code = shares.findIndex(share => {
        rest -= share;
        return rest < 0;
      });
      if (code < 0) code = this.end;
      if (code === this.end) break;
      codes.push(code);
    }
    return codes;
  }
}

// The recorded rule of an optimizer as a table for one parameter at a time: w, g, rate, decay, t and what it keeps
// are the first registers. What is the same for all parameters is computed once in each step.
function ruleOf({memory, steps, figures}) {
  const names = new Map(["w", "g", "rate", "decay", "t", ...memory].map((name, i) => [name, i]));
  const place = x => {
    if (!names.has(x)) names.set(x, names.size);
    return names.get(x);
  };
  const once = [],
    each = [],
    differs = new Set(["w", "g", ...memory]); // from parameter to parameter
  for (const [i, [, ...operands]] of steps.entries()) {
    const isSame = !operands.some(x => differs.has(x));
    if (!isSame) differs.add(`v${i}`);
    (isSame ? once : each).push(i, place(`v${i}`), operands.length, ...operands.map(place));
  }
  const registers = new Float64Array(names.size);
  for (const [x, i] of names) if (typeof x === "number") registers[i] = x;
  return {
    once: Int32Array.from(once),
    each: Int32Array.from(each),
    operations: steps.map(([op]) => OPERATIONS[op]),
    registers,
    next: place(figures.next),
    results: memory.map(name => place(figures[name])),
  };
}
