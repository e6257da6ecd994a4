// What the numbers in the memory of a model are called, and how the calls that made them lie in each other. Knows
// no element of the page.

import {number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";

// The boxes to show, by position: {name, slots, signature, inside}. A call that returns a single number is left
// out, and a call that only passes on what its own single call returns is shown as one.
export function boxesOf({boxes, losses}) {
  const most = new Map(),
    counts = new Map();
  const all = boxes.map(box => ({...box, inside: []}));
  for (const box of all) {
    const around = box.parent < 0 ? `${box.position}:` : all[box.parent].path;
    const sibling = `${around}/${box.name}`;
    const k = counts.get(sibling) ?? 0;
    counts.set(sibling, k + 1);
    box.path = `${sibling}#${k}`;
    box.signature = box.path.slice(box.path.indexOf(":") + 1);
    most.set(box.signature, Math.max(most.get(box.signature) ?? 0, box.slots.length));
  }
  const tops = Array.from({length: losses.length}, () => []);
  for (const box of all) {
    if (most.get(box.signature) < 2) continue;
    (box.parent < 0 ? tops[box.position] : all[box.parent].inside).push(box);
  }
  const merge = box => {
    while (box.inside.length === 1 && String(box.inside[0].slots) === String(box.slots))
      box.inside = box.inside[0].inside;
    box.inside.forEach(merge);
  };
  tops.flat().forEach(merge);
  return tops;
}

const flat = boxes => boxes.flatMap(box => [...flat(box.inside), box]);

// The calls that return a number for each position up to their own, as the weights of attention do: for each, its
// slots by position.
export function headsOf(tops) {
  const bySignature = new Map();
  for (const [p, boxes] of tops.entries())
    for (const {signature, slots} of flat(boxes)) {
      const rows = bySignature.get(signature) ?? bySignature.set(signature, []).get(signature);
      rows[p] = slots;
    }
  const isHead = rows => rows.length === tops.length && rows.length > 1 && rows.every((row, p) => row.length === p + 1);
  return [...bySignature.values()].filter(isHead);
}

// The names of slots, for a text whose tokens are read at each position.
export function namesOf(model, tops) {
  const {count, n, given, gradOf} = model;
  const found = new Map(),
    givers = new Map([...gradOf].map(([slot, grad]) => [grad, slot]));
  for (const [p, boxes] of tops.entries())
    for (const {name, slots} of flat(boxes))
      slots.forEach((slot, k) => found.has(slot) || found.set(slot, {box: name, k: k + 1, p}));
  const constants = new Set(given.constants.map(([slot]) => slot));
  function kindOf(slot) {
    if (slot < count) return "weight";
    if (slot < count + 3 * n) return "input";
    return constants.has(slot) || !model.placeOf.has(slot) ? "constant" : "computed";
  }
  function nameOf(slot) {
    if (slot < count) return given.called[slot];
    const kind = kindOf(slot);
    if (kind === "input") return "{{microscope.hidden}}";
    if (kind === "constant") return "";
    if (found.has(slot)) return filled("{{microscope.at}}", found.get(slot));
    if (givers.has(slot)) return filled("{{microscope.gradient.of}}", {name: nameOf(givers.get(slot))});
    const {op, slots} = model.operation(slot),
      n = slots.length,
      sign = {"*": "×", "-": "−", "/": "÷", "+": "+"}[op];
    if (op === "take") return nameOf(slots[1 + model.memory[slots[0]]]); // an entry of a table
    if (op === "dot") return filled("{{microscope.step.dot}}", {n: n / 2});
    const isExp = slots.every(k => model.placeOf.has(k) && model.operation(k).op === "exp");
    if (op === "sum") return filled(isExp ? "{{microscope.step.exps}}" : "{{microscope.step.sum}}", {n});
    const [a, b] = slots.map(k => (k < count || found.has(k) ? nameOf(k) : number(model.memory[k])));
    return sign && n === 2 ? `${a} ${sign} ${b}` : filled("{{microscope.step}}", {op: sign ?? op, of: a});
  }
  return {kindOf, nameOf};
}
