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
      changes = [];
    const [g, known, seeded, done] = ["g", "known", "seeded", "done"].map(key => before[key].slice());
    for (let k = before.at + 1; k <= at; k++) {
      const {phase, item, nodes} = this.list[k],
        isTold = k === at;
      if (phase === "seed") {
        for (let i = 0; i < known.length; i++) if (!graph.isLeaf(i)) g[i] = seeded[i] = done[i] = 0;
        g[graph.root] = graph.isLeaf(graph.root) ? g[graph.root] + 1 : 1;
        seeded[graph.root] = 1;
        if (isTold) changes.push({node: graph.root});
      } else if (phase === "forward")
        for (const node of nodes) {
          known[node] = 1;
          if (isTold) changes.push({node});
        }
      else
        for (const giver of nodes) {
          done[giver] = 1;
          const upstream = g[giver],
            wrong = this.mistake === "local" && giver === this.victim;
          graph.operands(giver).forEach((node, edge) => {
            const before = g[node];
            const share = wrong ? upstream : graph.share(giver, edge, d, g, upstream);
            const after = (g[node] = this.mistake === "assign" ? share : before + share);
            if (isTold && this.view.itemOf[node] !== item) {
              const local = wrong ? 1 : graph.localDerivative(giver, edge, d);
              changes.push({giver, edge, node, local, upstream, share, before, after, first: !seeded[node]});
            }
            seeded[node] = 1;
          });
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
      graph.operands(i).forEach((o, k) => {
        const isOutside = view.itemOf[o] !== item.name;
        if (!isOutside && !graph.isLeaf(o)) return;
        const to = isOutside ? sums : leaves;
        to.set(o, (to.get(o) ?? 0) + graph.share(i, k, d, g));
      });
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
  const seen = new Set(),
    path = [graph.root];
  while (path.length) {
    const i = path.pop();
    if (!seen.has(i)) path.push(...graph.operands(i).reverse());
    seen.add(i);
  }
  return [...seen].filter(i => !graph.isLeaf(i));
}
