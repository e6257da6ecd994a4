// What the numbers in the memory of a model are called. Knows no element of the page.

import {number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";

const flat = boxes => boxes.flatMap(box => [...flat(box.inside), box]);

// The weights of attention: for each head its slots by position.
export function headsOf(tops) {
  const heads = [];
  for (const boxes of tops) for (const {head, slots} of flat(boxes)) if (head >= 0) (heads[head] ??= []).push(slots);
  return heads;
}

// The names of slots, for a text whose tokens are read at each position.
export function namesOf(model) {
  const {count, n, given, gradOf} = model;
  const found = new Map(),
    givers = new Map([...gradOf].map(([slot, grad]) => [grad, slot]));
  for (const [p, boxes] of given.boxes.entries())
    for (const {name, slots} of flat(boxes))
      slots.forEach((slot, k) => found.has(slot) || found.set(slot, {box: name, k: k + 1, p}));
  const logits = new Map(
    given.logits.flatMap((slots, p) => slots.map((slot, k) => [slot, {token: given.tokens[k], p}])),
  );
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
    if (logits.has(slot)) return filled("{{microscope.logit}}", logits.get(slot) ?? {});
    if (found.has(slot)) return filled("{{microscope.at}}", found.get(slot));
    if (givers.has(slot)) return filled("{{microscope.gradient.of}}", {name: nameOf(givers.get(slot))});
    const {op, slots} = model.operation(slot),
      n = slots.length,
      sign = {"*": "×", "-": "−", "/": "÷", "+": "+"}[op];
    if (op === "take") return nameOf(slots[1 + model.memory[slots[0]]]); // an entry of a table
    if (op.startsWith("where")) return "{{microscope.step.choice}}";
    if (op === "dot") return filled("{{microscope.step.dot}}", {n: n / 2});
    const isExp = slots.every(k => model.placeOf.has(k) && model.operation(k).op === "exp");
    if (op === "sum") return filled(isExp ? "{{microscope.step.exps}}" : "{{microscope.step.sum}}", {n});
    const [a, b] = slots.map(k => (k < count || found.has(k) ? nameOf(k) : number(model.memory[k])));
    return sign && n === 2 ? `${a} ${sign} ${b}` : filled("{{microscope.step}}", {op: sign ?? op, of: a});
  }
  return {kindOf, nameOf};
}
