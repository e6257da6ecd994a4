// Boxes that fold and unfold: which cards and arrows are visible. Pure functions.
//
// A graph is that of program.js with boxes: `boxes[j]` is {label, kind, about, parent} and
// `boxOf[i]` is the innermost box of node i, or -1. A long stack also has `members`, its boxes, which
// are shown one at a time. An item is what is drawn as one card: a node,
// or a folded box.

export const MOST_AT_ONCE = 25;
const MOST_IN_A_ROW = 10;

export class Levels {
  // `twins` are leaves that are not shown, each with the one that is shown instead.
  constructor(graph, boxes = [], boxOf = graph.nodes.map(() => -1), twins = {}) {
    this.twins = twins;
    this.graph = graph;
    this.most = MOST_AT_ONCE; // more cards, or more of them in a row, show the innermost open box alone
    this.boxes = boxes;
    this.boxOf = boxOf;
    this.depth = [];
    /** @type {number[][]} */
    this.inner = boxes.map(() => []); // the boxes in each box itself
    boxes.forEach(({parent}, j) => {
      this.depth[j] = parent < 0 ? 0 : this.depth[parent] + 1;
      this.inner[parent]?.push(j);
    });
    this.direct = boxes.map(() => 0); // nodes in each box itself
    this.outside = 0; // nodes in no box
    for (const [i, j] of boxOf.entries()) if (!(i in twins)) j < 0 ? this.outside++ : this.direct[j]++;
  }

  // The boxes around box j, from the inside out, j first.
  around(j) {
    const found = [];
    for (; j >= 0; j = this.boxes[j].parent) found.push(j);
    return found;
  }

  // For each box, the outermost folded box around it (or itself), or -1 if it is open.
  folded(open) {
    const folded = [];
    for (const [j, {parent}] of this.boxes.entries())
      folded[j] = parent >= 0 && folded[parent] >= 0 ? folded[parent] : open.has(j) ? -1 : j;
    return folded;
  }

  // The number of cards.
  count(open) {
    const isCard = j => this.boxes[j].kind !== "outside";
    const cards = (outer, j) => (outer < 0 ? this.direct[j] : Number(outer === j && isCard(j)));
    const counts = this.folded(open).map(cards);
    return counts.reduce((sum, count) => sum + count, this.outside);
  }

  // How many cards follow each other from the leaves to the result.
  columns(open) {
    const names = this.outermost(open);
    const column = new Map();
    this.graph.nodes.forEach((node, i) => {
      const before = node.slice(1).map(o => (names[o] === names[i] ? 0 : column.get(names[o])));
      column.set(names[i], Math.max(column.get(names[i]) ?? 1, ...before.map(n => n + 1)));
    });
    return Math.max(...column.values());
  }

  // The number of cards, apart from those around the focus.
  size(open) {
    const focus = this.focus(open);
    return focus < 0 ? this.count(open) : this.direct[focus] + this.inner[focus].length;
  }

  // For each node, the name of the item that shows it: "v3", or "b1" for a box.
  outermost(open) {
    const names = this.folded(open).map(j => (j < 0 ? "" : `b${j}`));
    return this.boxOf.map((j, i) => names[j] || `v${i}`);
  }

  // The names, as from `outermost`, if only the inside of box `focus` is shown.
  focused(names, focus) {
    const {nodes} = this.graph,
      within = this.boxes.map((_, j) => this.around(j).includes(focus)),
      inside = this.boxOf.map(j => j >= 0 && within[j]),
      direct = new Set(nodes.flatMap((node, i) => (inside[i] ? node.slice(1).map(o => names[o]) : []))),
      leads = names.map((name, i) => inside[i] || direct.has(name));
    for (let i = nodes.length - 1; i >= 0; i--) if (leads[i]) for (const o of nodes[i].slice(1)) leads[o] = true;
    const [before, after] = [2, 1].map(k => `b${this.boxes.length - k}`);
    return names.map((name, i) => (inside[i] || direct.has(name) ? name : leads[i] ? before : after));
  }

  // The open box whose inside alone is shown, or -1 if there is room for all. The last two boxes stand for
  // what is around it.
  focus(open) {
    if (!open.size || this.boxes.at(-1)?.kind !== "outside") return -1;
    const isPaged = [...open].some(j => this.boxes[j].members);
    if (!isPaged && this.count(open) <= this.most && this.columns(open) <= MOST_IN_A_ROW) return -1;
    return [...open].reduce((deepest, j) => (deepest < 0 || this.depth[j] >= this.depth[deepest] ? j : deepest), -1);
  }

  // The open boxes, and of each open stack the member to show.
  complete(open) {
    const all = new Set(open);
    for (const j of all) {
      const {members} = this.boxes[j];
      if (members && !members.some(k => all.has(k))) all.add(members[0]);
    }
    return all;
  }

  // The boxes to open for box j, beside those that are open if there is room; else it comes into focus.
  opening(j, open) {
    const kept = this.focus(open) < 0 ? [...open] : this.around(j);
    const all = this.complete([...kept, j]);
    return this.focus(all) < 0 ? all : this.complete([...kept.filter(k => this.depth[k] <= this.depth[j]), j]);
  }

  // The boxes to open for another member of the stack around a box: the same place in it, as far as it
  // is built alike.
  turning(stack, k, open) {
    const {members} = this.boxes[stack];
    const path = this.around(this.focus(open)).reverse();
    let to = members[k];
    const found = [...this.around(to)];
    for (const j of path.slice(path.indexOf(stack) + 2)) {
      const place = this.inner[this.boxes[j].parent].indexOf(j);
      to = this.inner[to][place];
      if (this.boxes[to]?.kind !== this.boxes[j].kind) break;
      found.push(to);
    }
    return this.complete(found);
  }

  // What is visible: the items by name, in an order in which operands come first, each with its `parent`, the
  // box around it, or -1; the arrows between them, each with the edges [node, number of the operand] that it
  // stands for; and the frames of opened boxes.
  view(open) {
    const {graph, twins} = this,
      focus = this.focus(open),
      names = this.outermost(open),
      itemOf = focus < 0 ? names : this.focused(names, focus),
      items = new Map();
    itemOf.forEach((name, i) => {
      if (i in twins) return;
      let item = items.get(name);
      if (!item) items.set(name, (item = {name, nodes: [], outputs: []}));
      item.nodes.push(i);
    });
    for (const item of items.values()) {
      if (item.name[0] === "b") item.box = +item.name.slice(1);
      else item.node = item.nodes[0];
      item.parent = item.box === undefined ? this.boxOf[item.node] : this.boxes[item.box].parent;
    }
    const arrows = new Map(),
      used = new Set();
    graph.nodes.forEach((node, i) => {
      for (let k = 0; k + 1 < node.length; k++) {
        const giver = twins[node[k + 1]] ?? node[k + 1],
          from = itemOf[giver],
          to = itemOf[i];
        if (from === to) continue;
        used.add(giver);
        const whole = items.get(to).box !== undefined;
        const key = whole ? `${from}>${to}` : `${from}>${to}>${k}`;
        if (!arrows.has(key))
          arrows.set(key, {from, to, edges: [], ...(whole ? {} : {port: k, ports: node.length - 1})});
        arrows.get(key).edges.push([i, k]);
      }
    });
    used.add(graph.root);
    for (const i of used) items.get(itemOf[i]).outputs.push(i);
    const order = sorted([...items.values()], [...arrows.values()]);
    const isShown = j => focus < 0 || this.around(j).includes(focus);
    const frames = [...open].filter(j => items.size && isShown(j) && this.around(j).every(k => open.has(k)));
    const inOrder = new Map(order.map(item => [item.name, item]));
    // with a focus, only the arrows of its inside, and what leads to what leads there
    const isInside = name => this.around(inOrder.get(name).parent).includes(focus);
    const [before, after] = [2, 1].map(k => `b${this.boxes.length - k}`);
    const shown = [...arrows.values()].filter(
      ({from, to}) => focus < 0 || isInside(from) || isInside(to) || (from === before && to !== after),
    );
    return {items: inOrder, arrows: shown, itemOf, frames, focus, levels: this};
  }
}

// The items, operands first, else in the order of their last nodes; also if boxes lead to each other in a circle.
function sorted(items, arrows) {
  const last = item => item.nodes.at(-1);
  const before = new Map(items.map(({name}) => [name, new Set()]));
  for (const {from, to} of arrows) before.get(to).add(from);
  const left = new Map(items.sort((a, b) => last(a) - last(b)).map(item => [item.name, item]));
  const order = [];
  while (left.size) {
    const isReady = ({name}) => ![...before.get(name)].some(other => left.has(other));
    const next = [...left.values()].find(isReady) ?? left.values().next().value;
    left.delete(next.name);
    order.push(next);
  }
  return order;
}
