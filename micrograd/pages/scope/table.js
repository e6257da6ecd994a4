// The interpreter of recorded programs: a table of instructions over one array of numbers.
//
// An instruction is a line of the table: its operation, where its result goes, how many operands it has, and where
// they are. Derivatives are instructions like all others: they were recorded from the closures of the engine.

import {built, expression} from "../shared/program.js";

const folded = join => (m, t, i, n) => {
  let found = m[t[i]];
  for (let k = i + 1; k < i + n; k++) found = join(found, m[t[k]]);
  return found;
};

// What an operation makes of the n operands from place i of the table t on, in the memory m.
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

/** The function of an operation: one of those above, or written out. */
export function operationOf(name) {
  if (name in SEVERAL) return SEVERAL[name];
  const [op, comparison] = name.split(" ");
  const [a, b, ...others] = [0, 1, 2, 3].map(k => `m[t[i + ${k}]]`);
  const formula = comparison ? [op, [comparison, a, b], ...others] : [op, a, b];
  return built(`(m, t, i) => ${expression(formula, x => x)}`);
}

/** Runs the instructions of a table: `operations` are functions as above, by their number in the table. */
export function run(table, operations, memory) {
  for (let i = 0; i < table.length; ) {
    const count = table[i + 2];
    memory[table[i + 1]] = operations[table[i]](memory, table, i + 3, count);
    i += 3 + count;
  }
}
