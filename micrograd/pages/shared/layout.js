// Where the cards of a graph stand: a layered layout. Pure functions.
//
// Cards stand in ranks, each card behind all cards that it is computed from. An arrow that passes a
// rank passes it between the cards, at a dummy of no width. Everything is computed for rank after
// rank from left to right; downwards, the two directions are exchanged at the end.

import {round} from "./numbers.js";

// items: [{width, height}], in an order in which operands come first; arrows: [{from, to, port,
// ports}], indices into items, entering at port 0, 1, ... of so many. Arrows from one card that enter
// no port go the same way as far as they can. `groups` has the open box around each item, or -1. `gaps`
// are possible distances between two ranks: the first with which all fits into `room`, [along, across]
// the ranks, else the last, is used. `beside` is the distance between two cards of a rank. With
// `lines`, cards and arrows are closer to each other, and ranks go on in the next line, as words do: at
// most so many lines. An arrow to a later line ends where its line ends, and goes on where that one
// begins. Returns the centres {x, y} of the cards, the points of each arrow, the gap, the size of it
// all, and the places {x, y, item} where arrows go on.
/** @param {any[]} items @param {any[]} arrows @param {any} about */
export function layered(
  items,
  arrows,
  {groups = [], down = false, gaps = [110], room = [Infinity, Infinity], beside = 20, lines = 0} = {},
) {
  const sizes = items.map(({width, height}) => (down ? [height, width] : [width, height]));
  // Boxes can lead to each other in a circle: such an arrow is turned for the layout.
  const edges = arrows.map(({from, to}) => (from < to ? [from, to] : [to, from]));
  const rank = ranks(items.length, edges);
  /** @type {any[]} */
  const cells = sizes.map(([depth, size], i) => ({rank: rank[i], group: groups[i], size, depth, links: [], next: []}));
  const passing = new Map(); // the dummies
  const routes = edges.map(([a, b], k) => {
    // from a over its dummies to b
    const route = [a];
    for (let r = rank[a] + 1; r < rank[b]; r++) {
      const key = `${arrows[k].ports && !lines ? k : -1} ${a} ${r}`;
      if (!passing.has(key))
        passing.set(key, cells.push({rank: r, size: lines ? 6 : 2, depth: 0, links: [], next: [], dummy: true}) - 1);
      route.push(passing.get(key));
    }
    route.push(b);
    for (let k = 1; k < route.length; k++) {
      cells[route[k]].links.push(route[k - 1]);
      cells[route[k - 1]].next.push(route[k]);
    }
    return route;
  });
  const rows = ordered(cells);
  const across = placed(cells, rows, beside);
  const {begin, end, line, between, along} = lined(cells, rows, gaps, room[0], lines);
  const shift = []; // the lines are below each other
  let top = 0;
  for (let k = 0; k <= line.at(-1); k++) {
    const mine = [...cells.keys()].filter(i => line[cells[i].rank] === k);
    const low = Math.min(...mine.map(i => across[i] - cells[i].size / 2));
    shift[k] = top - low;
    top = Math.max(...mine.map(i => across[i] + cells[i].size / 2)) + shift[k] + (k < line.at(-1) ? GUTTER : 0);
  }
  const at = (r, a, c) => (down ? {x: c + shift[line[r]], y: a} : {x: a, y: c + shift[line[r]]});
  const middle = r => (begin[r] + end[r]) / 2;
  const ends = spread(edges, across, sizes);
  const resumed = new Map();
  const paths = routes.map((route, k) => {
    const [a, b] = edges[k],
      isTurned = arrows[k].from >= arrows[k].to;
    const {port = 0, ports = 0} = arrows[k];
    const twins = arrows.filter(other => other.from === arrows[k].from && other.to === arrows[k].to);
    const leaves = twins.length > 1 && ports ? portOffset(port, ports, sizes[a][1]) : 0;
    const enters = ports && !isTurned ? portOffset(port, ports, sizes[b][1]) : ends[k];
    const points = route.flatMap((i, n) => {
      const {rank: r, depth, dummy} = cells[i];
      const [first, last] = [n === 0, n === route.length - 1];
      const y = across[i] + (first ? leaves : last ? enters : 0);
      /** @type {any[]} */
      const found = dummy
        ? [at(r, begin[r], y), at(r, end[r], y)]
        : [at(r, middle(r) + (first ? depth : -depth) / 2, y)];
      const o = route[n + 1];
      const next = cells[o]?.rank;
      if (line[next] > line[r]) {
        const y = across[o] + shift[line[next]] + (n + 2 === route.length ? enters : 0);
        found.push({x: along, y: found[0].y, jump: r}, {x: 0, y, jump: r});
        resumed.set(`${a} ${y}`, {x: 0, y, item: a});
      }
      return found;
    });
    return isTurned ? points.reverse() : points;
  });
  return {
    centres: items.map((_, i) => at(rank[i], middle(rank[i]), across[i])),
    paths,
    between,
    resumed: [...resumed.values()],
    fits: line.at(-1) < Math.max(1, lines) && along <= room[0] && top <= room[1],
    ...(down ? {width: top, height: along} : {width: along, height: top}),
  };
}
export const LINES = [1, 2, 3, 4]; // values of `lines`, the best first
const TOGETHER = 30; // the weight of an arrow between cards of one box, which should be in one row
export const LEAD = 72; // before a line, where arrows go on that come from an earlier one
const TAIL = 12; // behind a line
const GUTTER = 22; // between two lines

// Where each rank begins and ends, its line, the gap between two ranks, and the length of a line.
function lined(cells, rows, gaps, long, lines) {
  const deep = rows.map(row => Math.max(0, ...row.map(i => cells[i].depth)));
  const width = lines > 1 ? long - LEAD - TAIL : long;
  const lineOf = gap => {
    /** @type {any[]} */
    const line = [0];
    let length = deep[0];
    for (let r = 1; r < deep.length; r++) {
      length += gap + deep[r];
      line[r] = line[r - 1] + Number(length > width);
      if (line[r] > line[r - 1]) length = deep[r];
    }
    return line;
  };
  const between = gaps.find(gap => lineOf(gap).at(-1) < Math.max(1, lines)) ?? gaps.at(-1);
  const line = lines > 1 ? lineOf(between) : deep.map(() => 0);
  /** @type {number[][]} */
  const [begin, end] = [[], []];
  const inset = line.at(-1) ? LEAD : 0;
  deep.forEach((depth, r) => {
    begin[r] = r && line[r] === line[r - 1] ? end[r - 1] + between : inset;
    end[r] = begin[r] + depth;
  });
  return {begin, end, line, between, along: Math.max(...end) + (inset && TAIL)};
}

// Where port k of n lies on the side of a card, measured from its middle.
const portOffset = (k, n, size) => (k - (n - 1) / 2) * Math.min(26, size / n);

// The rank of each item: one more than the largest rank of its operands; and what has no operands
// moves up to what uses it.
function ranks(count, edges) {
  const rank = new Array(count).fill(0);
  /** @type {any[][]} */
  const from = rank.map(() => []);
  for (const [a, b] of edges) from[b].push(a);
  for (let i = 0; i < count; i++) for (const a of from[i]) rank[i] = Math.max(rank[i], rank[a] + 1);
  const nearest = new Array(count).fill(Infinity);
  for (const [a, b] of edges) nearest[a] = Math.min(nearest[a], rank[b] - 1);
  return rank.map((r, i) => (from[i].length || nearest[i] === Infinity ? r : nearest[i]));
}

// The cells of each rank, in an order with few crossings. They start in the order in which a walk
// from the results back reaches them, so operands keep their order; then each cell moves to the
// average of its neighbours, forwards and backwards, and the best order is kept.
function ordered(cells) {
  /** @type {any[][]} */
  const rows = Array.from({length: 1 + Math.max(0, ...cells.map(cell => cell.rank))}, () => []);
  const seen = new Set(),
    path = cells.map((_, i) => i).filter(i => !cells[i].next.length);
  while (path.length) {
    const i = path.pop();
    if (!seen.has(i)) path.push(...cells[i].links.toReversed());
    seen.add(i);
  }
  for (const i of seen) rows[cells[i].rank].push(i);
  let best = structuredClone(rows),
    fewest = crossings(cells, rows);
  for (let sweep = 0; sweep < 8 && fewest; sweep++) {
    const forwards = sweep % 2 === 0,
      place = placesIn(rows);
    for (const row of forwards ? rows : rows.toReversed()) {
      const mean = i => {
        const near = forwards ? cells[i].links : cells[i].next;
        return near.length ? near.reduce((sum, j) => sum + place.get(j), 0) / near.length : place.get(i);
      };
      const means = new Map(row.map(i => [i, mean(i)]));
      row.sort((i, j) => means.get(i) - means.get(j) || place.get(i) - place.get(j));
      row.forEach((i, k) => place.set(i, k));
    }
    const count = crossings(cells, rows);
    if (count < fewest) [best, fewest] = [structuredClone(rows), count];
  }
  return best;
}

const placesIn = rows => new Map(rows.flatMap(row => row.map((i, k) => [i, k])));
function crossings(cells, rows) {
  const place = placesIn(rows);
  let count = 0;
  for (const row of rows) {
    // operands enter a card in their order
    const ends = row.flatMap(i => cells[i].links.map((j, k, {length}) => [place.get(j), place.get(i) + k / length]));
    for (let a = 0; a < ends.length; a++)
      for (let b = 0; b < a; b++) if ((ends[a][0] - ends[b][0]) * (ends[a][1] - ends[b][1]) < 0) count++;
  }
  return count;
}

// The place of each cell within its rank: near its neighbours, and never over another cell.
function placed(cells, rows, beside) {
  const at = new Array(cells.length).fill(0);
  for (let sweep = -1; sweep < 12; sweep++) {
    const forwards = sweep % 2 === 0;
    const wish = i => {
      const {links, next, group} = cells[i];
      const near = sweep < 0 ? [] : sweep > 7 ? [...links, ...next] : forwards ? links : next;
      const weight = j => (group >= 0 && cells[j].group === group ? TOGETHER : 1);
      const total = of => near.reduce((sum, j) => sum + weight(j) * of(j), 0);
      return near.length ? total(j => at[j]) / total(() => 1) : at[i];
    };
    for (const row of forwards ? rows : rows.toReversed()) {
      const sizes = row.map(i => cells[i].size);
      for (const [k, x] of apart(sizes, row.map(wish), beside).entries()) at[row[k]] = x;
    }
  }
  return at;
}

// The places closest to the wanted ones (least squares) that keep the order and the room between
// neighbours: pools of cells that would overlap move together, to the average of their wishes.
function apart(sizes, wanted, beside) {
  const shift = [0];
  for (let k = 1; k < sizes.length; k++) shift[k] = shift[k - 1] + (sizes[k - 1] + sizes[k]) / 2 + beside;
  const pools = [];
  wanted.forEach((x, k) => {
    pools.push({sum: x - shift[k], count: 1});
    while (pools.length > 1) {
      const [a, b] = pools.slice(-2);
      if (a.sum / a.count <= b.sum / b.count) break;
      pools.splice(-2, 2, {sum: a.sum + b.sum, count: a.count + b.count});
    }
  });
  return pools.flatMap(pool => new Array(pool.count).fill(pool.sum / pool.count)).map((x, k) => x + shift[k]);
}

// Arrows that enter the same card do so at different points of its side, in the order of the cards at their
// other ends. (All arrows from a card carry the same number: they leave together.)
function spread(edges, across, sizes) {
  return edges.map((edge, own) => {
    const height = k => across[edges[k][0]];
    const rivals = [...edges.keys()].filter(k => edges[k][1] === edge[1]);
    const above = rivals.filter(k => height(k) < height(own) || (height(k) === height(own) && k < own));
    return portOffset(above.length, rivals.length, sizes[edge[1]][1] * 0.8);
  });
}

// The text of an SVG path through the points: it leaves each in the direction of the ranks, or jumps between two
// with the same `jump`.
export function curve(points, down) {
  const [first, ...others] = points;
  let text = `M${round(first.x)} ${round(first.y)}`,
    before = first;
  for (const point of others) {
    const [x, y] = [(before.x + point.x) / 2, (before.y + point.y) / 2];
    const bend = down ? [before.x, y, point.x, y] : [x, before.y, x, point.y];
    const jumps = point.jump >= 0 && point.jump === before.jump;
    text += (jumps ? "M" : "C") + [...(jumps ? [] : bend), point.x, point.y].map(round).join(" ");
    before = point;
  }
  return text;
}

// A free place for a label of this size on a curve, given as points along it, inside the rectangle `bounds`: the one
// at which it covers least of the rectangles {left, top, right, bottom}, and how much. `lean` is how far beside the
// curve it is tried first, in heights of the label.
export function freePlace(points, {width, height}, taken, bounds, lean = 0) {
  /** @type {any} */
  let best = null;
  let least = Infinity;
  const within = (at, half, low, high) => Math.max(low + half, Math.min(high - half, at));
  const beyond = [38, -38, 56, -56].map(far => far / height + Math.sign(far) / 2); // above or below the cards
  const beside = [lean, 1.4 * lean, 0, -0.6, 0.6, -1.1, 1.1, ...beyond].map(dy => [0, dy]);
  const across = [0.6, -0.6, 1.1, -1.1].flatMap(dx => [0, -0.6, 0.6].map(dy => [dx, dy]));
  for (const [dx, dy] of [...beside, ...across])
    for (const point of points) {
      const x = within(point.x + dx * width, width / 2, bounds.left, bounds.right);
      const y = within(point.y + dy * height, height / 2, bounds.top, bounds.bottom);
      const own = {left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2};
      const covered = taken.reduce((sum, other) => sum + overlap(own, other), 0);
      const cost = covered + Math.abs(dx) + Math.abs(dy - lean);
      if (cost < least) [best, least] = [{...own, x, y, covered}, cost];
      if (cost === 0) return best;
    }
  return best;
}
export const overlap = (a, b) =>
  Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
  Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
export function hull(boxes) {
  const [left, right, top, bottom] = ["left", "right", "top", "bottom"].map(side => boxes.map(box => box[side]));
  return {left: Math.min(...left), right: Math.max(...right), top: Math.min(...top), bottom: Math.max(...bottom)};
}
