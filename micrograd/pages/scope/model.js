// The model: its memory, its program, and its optimizer. Knows no element of the page.

import {move, optimizerOf} from "../learning/optimizers.js";
import {Random} from "../learning/random.js";
import {unpacked} from "../shared/numbers.js";
import {built, functionText} from "../shared/rules.js";

const folded = join => (m, t, i, n) => {
  let found = m[t[i]];
  for (let k = i + 1; k < i + n; k++) found = join(found, m[t[k]]);
  return found;
};
// What operations make of the n operands from place i of the table t on, in the memory m.
const SEVERAL = {
  copy: (m, t, i) => m[t[i]],
  dot: (m, t, i, n) => {
    let sum = 0;
    for (let k = i, end = i + (n >> 1), other = end; k < end; k++, other++) sum += m[t[k]] * m[t[other]];
    return sum;
  },
  sum: folded((a, b) => a + b),
  largest: folded(Math.max),
  smallest: folded(Math.min),
  take: (m, t, i) => m[t[i + 1 + m[t[i]]]],
  // A row of a table receives from every position whose index it is.
  scatter: (m, t, i, n) => {
    const half = (n - 1) >> 1,
      row = m[t[i + n - 1]];
    let sum = 0;
    for (let k = i; k < i + half; k++) if (m[t[k]] === row) sum += m[t[k + half]];
    return sum;
  },
};
// The function of an operation of two operands, or of a choice between two others: "where <".
function writtenOut(name) {
  const [op, comparison] = name.split(" ");
  return built(functionText(comparison ? [op, [comparison, "x0", "x1"], "x2", "x3"] : [op, "x0", "x1"]));
}

export class Model {
  time = 0; // the steps that the optimizer has counted
  taken = 0; // the steps taken on this page
  /** @type {Record<string, Float64Array>} */ kept = {}; // what the optimizer remembers

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
    this.operations = ops.map(name => SEVERAL[name] ?? writtenOut(name));
    this.memory = new Float64Array(size);
    for (const [slot, x] of constants) this.memory[slot] = Number(x);
    this.weights = this.memory.subarray(0, this.count); // they come first, then the inputs
    this.gradOf = new Map(given.gradOf);
    for (let k = 0; k < this.count; k++) this.gradOf.set(k, given.gradients[k]);
    this.placeOf = new Map(); // where the instruction of each result is
    for (const table of this.tables)
      for (let i = 0; i < table.length; i += 3 + table[i + 2]) this.placeOf.set(table[i + 1], [table, i]);
    this.gradients = new Float64Array(this.count);
    this.optimizer = optimizerOf(optimizer);
    this.rate = optimizer.rate;
    this.rule = optimizer.name;
    this.begin("trained");
  }

  // The weights before or after the training in Python, with the moments of the optimizer that belong to them.
  begin(state) {
    const {start, optimizer} = this.given;
    const isFresh = state === "untrained";
    this.state = state;
    this.weights.set(unpacked(start[state], Float64Array));
    this.kept = {};
    for (const [name, text] of Object.entries(optimizer.kept))
      this.kept[name] = isFresh ? new Float64Array(this.count) : unpacked(text, Float64Array);
    this.time = isFresh ? 0 : optimizer.step;
    this.taken = 0;
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
    this.run(this.tables[0]);
    return this.memory[this.given.loss];
  }
  backward() {
    this.run(this.tables[1]);
  }
  // Each instruction is the number of its operation, where its result goes, how many operands it has, and where they
  // are. Those of the derivatives are like all others: they were recorded from the closures of the engine.
  run(table) {
    const {operations, memory} = this;
    for (let i = 0; i < table.length; ) {
      const count = table[i + 2];
      memory[table[i + 1]] = operations[table[i]](memory, table, i + 3, count);
      i += 3 + count;
    }
  }

  // The instruction that computes a number: its operation, and where its operands are.
  operation(slot) {
    const [table, i] = this.placeOf.get(slot);
    return {op: this.given.ops[table[i]], slots: [...table.subarray(i + 3, i + 3 + table[i + 2])]};
  }

  // The text that the next step reads.
  get next() {
    const {texts} = this.given;
    return texts[this.taken % texts.length];
  }
  // One training step; returns the loss of its text.
  step(codes = this.next) {
    const {gradients, optimizer} = this.given;
    this.load(codes);
    const loss = this.forward();
    this.backward();
    this.time++;
    this.taken++;
    for (let k = 0; k < this.count; k++) this.gradients[k] = this.memory[gradients[k]];
    const settings = {rate: this.rate, decay: optimizer.decay, t: this.time};
    move(this.optimizer, this.weights, this.gradients, this.kept, settings);
    return loss;
  }

  // Everything that training changes.
  saved() {
    const {state, time, taken, rate, weights, kept} = this;
    return structuredClone({state, time, taken, rate, weights: weights.slice(), kept});
  }
  restore(saved) {
    const {weights, ...rest} = structuredClone(saved);
    this.weights.set(weights);
    Object.assign(this, rest);
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
