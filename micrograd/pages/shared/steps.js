// The steps of a forward and a backward pass, with or without a mistake. Pure functions.
//
// A step is {phase, item, nodes}: "start" (the leaves have their data), "forward" (an item is
// computed), "seed" (the gradient of the result is 1), "backward" (the closures of an item run) and
// "end". A state is {d, g, known, seeded, done}: data and gradients, whether the data of a node and
// its gradient are known, and whether its closure has run. States are computed, not stored.

export class Steps {
  // view: of levels.js; leaves: a Map from node to number; victim: the node whose local derivative is
  // wrong.
  constructor(graph, view, leaves, mistake = "", victim = -1) {
    this.graph = graph;
    this.view = view;
    this.mistake = mistake;
    this.victim = victim;
    this.last = null;
    this.d = graph.forward(leaves);
    view.order ??= inRuns(graph, view); // the same for all numbers
    const {order} = view;
    const backward = mistake === "order" ? preorder(graph) : order.slice().reverse();
    this.list = [{phase: "start", item: null, nodes: [], pass: 0}, ...this.runs(order, "forward")];
    for (let pass = 0; pass < (mistake === "twice" ? 2 : 1); pass++)
      this.list.push(
        {phase: "seed", item: view.itemOf[graph.root], nodes: [graph.root], pass},
        ...this.runs(backward, "backward"),
      );
    this.list.push({phase: "end", item: null, nodes: []});
  }

  get count() {
    return this.list.length;
  }

  get seedAt() {
    return this.list.findIndex(step => step.phase === "seed");
  }

  // Neighbours in the order that are drawn as one card run in one step.
  runs(order, phase) {
    const found = [];
    for (const i of order) {
      const item = this.view.itemOf[i],
        last = found[found.length - 1];
      if (last && last.item === item) last.nodes.push(i);
      else found.push({phase, item, nodes: [i]});
    }
    return found;
  }

  // The state after step `at`; and the changes of this step, in order, apart from those inside an item. The
  // last state is kept, to go on from.
  state(at) {
    if (this.last?.at === at) return this.last;
    const before = this.last && this.last.at < at ? this.last : this.beginning();
    this.last = this.advanced(before, at);
    return this.last;
  }

  beginning() {
    const n = this.graph.nodes.length,
      [known, seeded, done] = [new Uint8Array(n), new Uint8Array(n), new Uint8Array(n)];
    for (let i = 0; i < n; i++) if (this.graph.isLeaf(i)) known[i] = 1;
    return {at: -1, d: this.d, g: new Float64Array(n), known, seeded, done, changes: []};
  }

  // The state after step `at`, from an earlier one.
  advanced(before, at) {
    const {graph, d} = this,
      {nodes: all} = graph,
      n = all.length,
      changes = [];
    const [g, known, seeded, done] = ["g", "known", "seeded", "done"].map(key => before[key].slice());
    for (let k = before.at + 1; k <= at; k++) {
      const {phase, item, nodes} = this.list[k],
        tell = k === at;
      if (phase === "forward")
        for (const node of nodes) {
          known[node] = 1;
          if (tell) changes.push({node});
        }
      if (phase === "seed") {
        for (let i = 0; i < n; i++) if (!graph.isLeaf(i)) g[i] = seeded[i] = done[i] = 0;
        g[graph.root] = graph.isLeaf(graph.root) ? g[graph.root] + 1 : 1;
        seeded[graph.root] = 1;
        if (tell) changes.push({node: graph.root});
      }
      if (phase === "backward")
        for (const i of nodes) {
          done[i] = 1;
          const upstream = g[i],
            wrong = this.mistake === "local" && i === this.victim;
          for (let j = 0; j + 1 < all[i].length; j++) {
            const operand = all[i][j + 1],
              before = g[operand];
            const share = wrong ? upstream : graph.share(i, j, d, g, upstream);
            g[operand] = this.mistake === "assign" ? share : before + share;
            if (tell && this.view.itemOf[operand] !== item) {
              const local = wrong ? 1 : graph.localDerivative(i, j, d);
              const sum = {before, after: g[operand], first: !seeded[operand]};
              changes.push({giver: i, edge: j, node: operand, local, upstream, share, ...sum});
            }
            seeded[operand] = 1;
          }
        }
    }
    return {at, d, g, known, seeded, done, changes};
  }

  // What an item has passed back in a state: its contribution to each node outside it that it uses, then to
  // the leaves inside. Empty if it has not run; also with a mistake, which may have passed on other numbers
  // than the final ones.
  passed(item, {g, done}) {
    const {graph, view, d} = this;
    const [sums, leaves] = [new Map(), new Map()];
    if (this.mistake || !item.nodes.every(i => done[i] || graph.isLeaf(i))) return sums;
    for (const i of item.nodes)
      for (let k = 1; k < graph.nodes[i].length; k++) {
        const operand = graph.nodes[i][k];
        const isOutside = view.itemOf[operand] !== item.name;
        if (!isOutside && !graph.isLeaf(operand)) continue;
        const to = isOutside ? sums : leaves;
        to.set(operand, (to.get(operand) ?? 0) + graph.share(i, k - 1, d, g));
      }
    return new Map([...sums, ...leaves]);
  }

  // The gradients after the last step.
  gradients() {
    return this.state(this.count - 1).g;
  }
}

// The operations, operands first. An item runs as far as it can before another one goes on, also if items
// lead to each other in a circle.
function inRuns({nodes}, {items, itemOf}) {
  /** @type {any} */
  const ready = new Map([...items.keys()].map(name => [name, []]));
  const users = nodes.map(() => []);
  const waitsFor = new Int32Array(nodes.length);
  const order = [];
  nodes.forEach(([, ...operands], i) => {
    for (const o of operands)
      if (nodes[o].length > 1) {
        waitsFor[i]++;
        users[o].push(i);
      }
    if (operands.length && !waitsFor[i]) ready.get(itemOf[i]).push(i);
  });
  const next = () => [...ready.values()].find(queue => queue.length);
  for (let queue = next(); queue; queue = next()) {
    for (const i of queue) {
      order.push(i);
      for (const user of users[i]) if (!--waitsFor[user]) ready.get(itemOf[user]).push(user);
    }
    queue.length = 0;
  }
  return order;
}

// The operations as they are first reached from the result: each node, then its operands.
function preorder(graph) {
  const order = [],
    seen = new Set(),
    path = [graph.root];
  while (path.length) {
    const i = path.pop();
    if (seen.has(i)) continue;
    seen.add(i);
    if (!graph.isLeaf(i)) order.push(i);
    path.push(...graph.operands(i).reverse());
  }
  return order;
}

// The local derivatives of a folded box with one output, with respect to all nodes that it uses: the
// closures inside run with an upstream gradient of 1.
export function throughBox(graph, d, nodes, output) {
  const g = new Float64Array(graph.nodes.length);
  g[output] = 1;
  for (let at = nodes.length - 1; at >= 0; at--) {
    const i = nodes[at];
    for (let k = 1; k < graph.nodes[i].length; k++) g[graph.nodes[i][k]] += graph.share(i, k - 1, d, g);
  }
  return g;
}
