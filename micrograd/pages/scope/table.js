// The interpreter of recorded programs: a table of instructions over one array of numbers. Pure functions.
//
// An instruction is a line of the table: its operation, where its result goes, how many operands it has, and where
// they are. Derivatives are instructions like all others: they were recorded from the closures of the engine.

const dot = (m, t, i, n) => {
  let sum = 0;
  for (let k = i, end = i + (n >> 1), other = end; k < end; k++, other++) sum += m[t[k]] * m[t[other]];
  return sum;
};
const folded = join => (m, t, i, n) => {
  let found = m[t[i]];
  for (let k = i + 1; k < i + n; k++) found = join(found, m[t[k]]);
  return found;
};
const choice = holds => (m, t, i) => (holds(m[t[i]], m[t[i + 1]]) ? m[t[i + 2]] : m[t[i + 3]]);
const of = f => (m, t, i) => f(m[t[i]]);
const ofTwo = f => (m, t, i) => f(m[t[i]], m[t[i + 1]]);

/** By name: what an operation makes of the n operands from place i of the table t on, in the memory m. */
export const OPERATIONS = {
  dot,
  sum: folded((a, b) => a + b),
  largest: folded(Math.max),
  smallest: folded(Math.min),
  "where <": choice((x, y) => x < y),
  "where <=": choice((x, y) => x <= y),
  "where >": choice((x, y) => x > y),
  "where >=": choice((x, y) => x >= y),
  "where is": choice((x, y) => x === y),
  take: (m, t, i) => m[t[i + 1 + m[t[i]]]],
  // A row of a table receives from every position whose index it is.
  scatter: (m, t, i, n) => {
    const half = (n - 1) >> 1,
      row = m[t[i + n - 1]];
    let sum = 0;
    for (let k = i; k < i + half; k++) if (m[t[k]] === row) sum += m[t[k + half]];
    return sum;
  },
  "+": (m, t, i) => m[t[i]] + m[t[i + 1]],
  "-": (m, t, i) => m[t[i]] - m[t[i + 1]],
  "*": (m, t, i) => m[t[i]] * m[t[i + 1]],
  "/": (m, t, i) => m[t[i]] / m[t[i + 1]],
  "**": ofTwo((x, y) => (y === 0.5 ? Math.sqrt(x) : x ** y)),
  "<": ofTwo((x, y) => +(x < y)),
  "<=": ofTwo((x, y) => +(x <= y)),
  ">": ofTwo((x, y) => +(x > y)),
  ">=": ofTwo((x, y) => +(x >= y)),
  maximum: ofTwo(Math.max),
  minimum: ofTwo(Math.min),
  copy: of(x => x),
  neg: of(x => -x),
  relu: of(x => Math.max(0, x)),
  sigmoid: of(x => 1 / (1 + Math.exp(-x))),
  ...Object.fromEntries(["abs", "exp", "log", "sqrt", "sin", "cos", "tanh"].map(name => [name, of(Math[name])])),
};

/** Runs the instructions of a table: `operations` are functions as above, by their number in the table. */
export function run(table, operations, memory) {
  for (let i = 0; i < table.length; ) {
    const count = table[i + 2];
    memory[table[i + 1]] = operations[table[i]](memory, table, i + 3, count);
    i += 3 + count;
  }
}

/** Numbers that were packed as bytes. */
export function unpacked(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
}
