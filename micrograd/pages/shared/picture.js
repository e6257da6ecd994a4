// What the cards and arrows of a drawing show after a step: data, gradients, and what happens now. Pure.

import {inFormula, number} from "./numbers.js";

// The node whose numbers an item shows, or -1.
export const shownNode = ({box, node, outputs}) => (box === undefined ? node : outputs.length === 1 ? outputs[0] : -1);

// The picture of step `at` for Stage.show, without what is said on it. `steps`: of steps.js; `before`: the
// step that was shown before; isConstant(node): such a node receives no gradient.
export function pictureOf(steps, at, before, isConstant) {
  const {graph, view} = steps;
  const {d, g, known, seeded, done, changes} = steps.state(at);
  const step = steps.list[at];
  const backward = at >= steps.seedAt;
  const changed = new Set(changes.map(({node}) => node));
  const cards = new Map();
  for (const item of view.items.values()) {
    const i = shownNode(item);
    const inner = item.nodes.filter(n => item.box === undefined || !graph.isLeaf(n));
    const card = {
      later: !item.nodes.every(n => known[n]) && !inner.some(n => known[n]),
      now: step.item === item.name,
      given: backward && item.nodes.some(n => done[n]),
    };
    cards.set(item.name, card);
    const {outputs} = item;
    if (item.box !== undefined && view.levels.boxes[item.box].kind !== "outside") {
      const back = [...steps.passed(item, steps.state(at))].flatMap(([o, x]) => (isConstant(o) ? [] : x));
      card.back = back.length > 1 ? back : back.map(number)[0];
      if (outputs.every(o => known[o])) card.data = outputs.map(o => d[o]);
      if (outputs.every(o => seeded[o])) card.grad = outputs.map(o => g[o]);
    }
    if (i < 0) continue;
    const fresh = changed.has(i) ? (backward ? "grad" : "data") : "";
    const [data, grad] = [known[i] ? number(d[i]) : "·", seeded[i] ? number(g[i]) : "·"];
    Object.assign(card, {data, grad, number: d[i], fresh});
  }
  const runs = step.phase === "forward" || step.phase === "backward";
  const arrows = view.arrows.map(({edges, to}) => {
    const onto = edges.map(([giver, k]) => graph.nodes[giver][k + 1]);
    return {
      now: runs && step.item === to && !(backward && isConstant(onto[0])),
      passed: backward && edges.some(([giver]) => done[giver]) && !onto.every(isConstant),
      still: onto.every(isConstant), // it gets no gradient
      later: !backward && !onto.every(i => known[i]),
    };
  });
  const item = view.items.get(step.item);
  const focus = item ? [item.name, ...view.arrows.filter(a => a.to === item.name).map(a => a.from)] : [];
  return {backward, cards, arrows, focus, travel: at === before + 1 && item && step.phase !== "seed"};
}

// The label of an arrow: the chain rule for one operand.
export function chainTexts({local, upstream, share}) {
  return {local: inFormula(local), upstream: inFormula(upstream), share: number(share)};
}
