// A neuron opened, or a whole small model: its operations for one point as cards, forward and backward,
// drawn by cards.js as on the stepping page.

import {Stage} from "../shared/cards.js";
import {formulaOf, plain} from "../shared/formula.js";
import {WORDS} from "../shared/glossary.js";
import {Levels} from "../shared/levels.js";
import {inFormula, number} from "../shared/numbers.js";
import {chainTexts, pictureOf} from "../shared/picture.js";
import {Graph} from "../shared/program.js";
import {Steps} from "../shared/steps.js";
import {filled} from "../shared/texts.js";

// Part of a graph, ending in the loss. If more computation lies between the part and the loss, its last
// node is "all that follows", whose local derivative was found by the backward pass of the whole graph.
class Part extends Graph {
  // whole: {graph, d, g}; nodes: those to show, operands first; rest: whether more lies behind the last
  constructor({graph, d, g}, nodes, rest) {
    const place = new Map(nodes.map((node, k) => [node, k])),
      last = nodes.length - 1;
    const rules = [...graph.rules, {op: "…", forward: null, shares: [0]}];
    const own = nodes.map(node => {
      const [rule, ...operands] = graph.nodes[node];
      const isInside = operands.every(operand => place.has(operand));
      return isInside ? [rule, ...operands.map(operand => place.get(operand))] : [-1];
    });
    super({rules, nodes: rest ? [...own, [rules.length - 1, last]] : own, leaves: {}});
    this.origin = nodes;
    this.rest = rest;
    this.follow({graph, d, g});
  }

  // The numbers of another moment.
  follow({graph, d, g}) {
    this.origin.forEach((node, k) => {
      if (this.isLeaf(k)) this.leaves.set(k, d[node]);
    });
    this.loss = d[graph.root];
    this.slope = g[this.origin[this.origin.length - 1]];
  }

  data(i, d) {
    return this.rest && i === this.root ? this.loss : super.data(i, d);
  }
  share(i, k, d, g, upstream = g[i]) {
    return this.rest && i === this.root ? this.slope * upstream : super.share(i, k, d, g, upstream);
  }
}

// Connects the cards to their place.
//   onTurn(node, steps)  a knob on a parameter was turned
//   onPick(node)         a parameter was pressed
export function makeOpened({svg, map, onTurn, onPick}) {
  const origin = k => part.origin[k];
  const callbacks = {onTurn: (k, steps) => onTurn(origin(k), steps), onPick: k => onPick(origin(k))};
  const stage = new Stage(svg, {map, ...callbacks});
  let key = "",
    part,
    view,
    steps,
    names,
    kinds,
    shown = -1;

  const describe = ({node: k}) => {
    const op = part.isLeaf(k) ? "" : part.rule(k).op;
    const sign = {"*": "×", "-": "−", neg: "−"}[op] ?? op.toLowerCase();
    return {kind: kinds[k], title: names[k], full: names[k], sign, fixed: kinds[k] !== "parameter"};
  };

  // Shows this part at a moment. `again` is a text that changes with its shape; named(node) and
  // kindOf(node) are the name and the kind of a node of the whole graph. Returns the number of steps and
  // what happens at this one.
  function show({again, whole, nodes, rest, named, kindOf, at}) {
    if (key !== again || !svg.clientWidth) {
      key = again;
      part = new Part(whole, nodes, rest);
      let count = 0;
      names = nodes.map((node, k) => named(node) ?? (part.isLeaf(k) ? number(whole.d[node]) : `v${++count}`));
      kinds = nodes.map((node, k) => kindOf(node) ?? (part.isLeaf(k) ? "constant" : "operation"));
      if (rest) {
        names.push("{{term.loss}}");
        kinds.push("result");
      } else kinds[kinds.length - 1] = "result";
      view = new Levels(part).view(new Set());
      stage.draw(view, describe);
      svg.style.height = `${Math.min(440, Math.max(180, stage.needs().height))}px`;
      stage.fit();
      stage.moveTo(0, stage.layout.height / 2); // it begins at the left
      shown = -1;
    }
    part.follow(whole);
    steps = new Steps(part, view, part.leaves);
    const now = Math.max(0, Math.min(at, steps.count - 1)),
      state = steps.state(now);
    stage.show(momentOf(now, state));
    shown = now;
    return {at: now, count: steps.count, ...toldAt(now, state)};
  }

  function momentOf(at, {changes}) {
    const isConstant = k => kinds[k] === "constant";
    const picture = pictureOf(steps, at, shown, isConstant);
    for (const {name, node: k} of view.items.values()) {
      const card = picture.cards.get(name),
        {data, grad} = card;
      card.spoken = filled("{{opened.card}}", {name: names[k], kind: WORDS[kinds[k]], data, grad});
    }
    view.arrows.forEach(({edges: [[giver, k]]}, i) => {
      const chain = changes.find(change => change.giver === giver && change.edge === k);
      if (chain && !isConstant(part.nodes[giver][k + 1])) picture.arrows[i].label = chainTexts(chain);
    });
    return picture;
  }

  // What happens at a step: the phase and a list of [text, kind].
  function toldAt(at, {d, changes}) {
    const {phase, item} = steps.list[at],
      k = item ? view.items.get(item).node : -1;
    const sentences = {start: "{{opened.start}}", seed: "{{opened.seed}}", end: "{{opened.end}}"};
    if (phase in sentences) return {phase, said: [[sentences[phase]]]};
    if (phase === "forward" && part.rest && k === part.root)
      return {phase, said: [["{{opened.rest}} "], [`{{term.loss}} = ${number(d[k])}`, "strong"]]};
    if (phase === "forward") {
      const [letters, numbers] = [j => [names[j]], (j, rank) => [(rank ? inFormula : number)(d[j])]].map(called =>
        plain(formulaOf(part, k, {stop: () => true, called})),
      );
      return {phase, said: [[`${names[k]} = ${letters} = ${numbers} = `], [number(d[k]), "strong"]]};
    }
    const received = changes.filter(({node}) => kinds[node] !== "constant");
    const said = received.flatMap(({node, local, upstream, share}, n) => [
      [n ? "; " : ""],
      [filled("{{opened.to}} ", {name: names[node]})],
      [number(local), "local"],
      [" × "],
      [number(upstream), "gradient"],
      [" = "],
      [number(share), "gradient"],
    ]);
    return {phase, said: said.length ? said : [[filled("{{opened.none}}", {name: names[k]})]]};
  }

  return {
    show,
    redraw: () => {
      key = "";
    },
  };
}
