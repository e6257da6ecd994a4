// The plane: the class that the model gives to each place, the boundary between them, and the points.

import {make} from "../shared/elements.js";
import {filled, partsOf} from "../shared/texts.js";
import {em, mixed, picture, prepared, roomFor, stretch, theme, ticks, trace} from "./canvas.js";

// A surface interpolated on a finer grid: cubic pieces, clipped to the two values that they join, so that
// no class appears between two neighbours that both belong to other classes.
const FINER = 4;
export const fineOf = n => (n - 1) * FINER + 1;

export function refined(coarse, width, height) {
  const along = (from, n, across, stride, step) => {
    const to = new Float32Array(fineOf(n) * across);
    for (let x = 0; x < fineOf(n); x++) {
      const i = Math.min(n - 2, Math.floor(x / FINER)),
        u = x / FINER - i;
      const weights = [u * (-1 + u * (2 - u)), 2 + u * u * (3 * u - 5), u * (1 + u * (4 - 3 * u)), u * u * (u - 1)];
      const places = [Math.max(0, i - 1), i, i + 1, Math.min(n - 1, i + 2)].map(k => k * step);
      for (let j = 0; j < across; j++) {
        const [p, q, r, s] = places.map(k => from[k + j * stride]);
        const cubic = (weights[0] * p + weights[1] * q + weights[2] * r + weights[3] * s) / 2;
        // The first pass transposes the surface, the second transposes it back.
        to[j + x * across] = Math.max(Math.min(q, r), Math.min(Math.max(q, r), cubic));
      }
    }
    return to;
  };
  const once = along(coarse, width, height, width, 1);
  return along(once, height, fineOf(width), height, 1);
}

// A surface for each class, above 0 where that class leads; for two classes, one surface is enough.
function leads(surfaces) {
  if (surfaces.length === 1) return surfaces;
  const best = (i, but) => Math.max(...surfaces.map((other, j) => (j === but ? -Infinity : other[i])));
  return surfaces.map((own, k) => own.map((z, i) => z - best(i, k)));
}

// The leading class and its lead over the next in probability: 0 on the boundary, 1 if certain.
function leading(surfaces, i) {
  if (surfaces.length === 1) return [surfaces[0][i] > 0 ? 1 : 0, Math.abs(Math.tanh(surfaces[0][i] / 2))];
  const scores = surfaces.map(surface => surface[i]);
  const most = Math.max(...scores),
    first = Math.max(0, scores.indexOf(most)); // 0 if they are no numbers
  const second = Math.max(...scores.filter((_, k) => k !== first));
  return [first, (1 - Math.exp(second - most)) / scores.reduce((sum, z) => sum + Math.exp(z - most), 0)];
}

// The zero line of a surface, cell by cell: a straight piece where it crosses two sides of a cell; where
// it crosses all four, the mean of the cell decides which corners belong together.
function traceZero(context, surface, width, height, place) {
  context.beginPath();
  for (let y = 0; y + 1 < height; y++) {
    for (let x = 0; x + 1 < width; x++) {
      const i = y * width + x;
      const a = surface[i],
        b = surface[i + 1],
        c = surface[i + width + 1],
        d = surface[i + width];
      if (a > 0 === b > 0 && b > 0 === c > 0 && c > 0 === d > 0) continue;
      const points = [];
      if (a > 0 !== b > 0) points.push([x + a / (a - b), y]);
      if (b > 0 !== c > 0) points.push([x + 1, y + b / (b - c)]);
      if (d > 0 !== c > 0) points.push([x + d / (d - c), y + 1]);
      if (a > 0 !== d > 0) points.push([x, y + a / (a - d)]);
      if (points.length === 4 && a + b + c + d > 0 === a > 0) points.unshift(...points.splice(1));
      points.forEach((p, k) => context[k % 2 ? "lineTo" : "moveTo"](...place(...p)));
    }
  }
  context.stroke();
}

// Paths in the unit circle, one for each class: the same markers as in the plots.
const MARKERS = [
  "M-.85 0a.85.85 0 1 0 1.7 0a.85.85 0 1 0-1.7 0z",
  "M0-1L.95.8H-.95z",
  "M-.75-.75h1.5v1.5h-1.5z",
  "M0-1L1 0L0 1L-1 0z",
  "M0 1L.95-.8H-.95z",
  "M.36 1V.36H1V-.36H.36V-1H-.36V-.36H-1V.36H-.36V1z",
  "M.45.96L0 .51L-.45.96L-.96.45L-.51 0L-.96-.45L-.45-.96L0-.51L.45-.96L.96-.45L.51 0L.96.45z",
  "M0-1.1L.26-.36L1.05-.34L.43.14L.65.89L0 .45L-.65.89L-.43.14L-1.05-.34L-.26-.36z",
].map(path => new Path2D(path));

// The marker of a class; hollow for points that the model does not learn from.
function drawMarker(context, label, x, y, size, hollow = false) {
  context.save();
  context.translate(x, y);
  context.scale(size, size);
  context.fillStyle = hollow ? theme.panel : theme.fills[label];
  context.strokeStyle = hollow ? theme.fills[label] : theme.edges[label];
  context.lineWidth = (hollow ? 2 : 1.2) / size;
  context.fill(MARKERS[label]);
  context.stroke(MARKERS[label]);
  context.restore();
}

// What the plane shows, in words: the output of a neuron, by its name, or what the network answers.
export function captionOf(name, isCurve = false, inputs = ["x₁", "x₂"]) {
  const says = name ? "{{playground.inside}}" : isCurve ? "{{playground.curve}}" : "{{playground.plane}}";
  return filled(says, {name, x: inputs[0], y: inputs[1]});
}

// Draws the plane and returns its geometry, for pointers.
//   grid       {columns, rows, surfaces}: a score for each class, or one, in rows from the bottom
//   inside     an image to show instead of the classes, or null
//   low, high  the corners; ratio: width over height
//   points     [{numbers: [x, y], label, test}]; chosen: the index of the one to mark
//   truth      a polyline of the boundary that generated the points, or null
//   curve      instead of classes, a polyline of what the model predicts
/** @param {any} canvas @param {any} about */
export function drawPlane(canvas, {grid, inside, low, high, ratio, points, chosen = -1, truth = null, curve = null}) {
  const marks = ticks(low[1], high[1], Math.max(2, canvas.clientWidth / ratio / 60));
  const margin = {left: roomFor(marks, 3), right: 0.6 * em(), top: 4, bottom: 1.33 * em()};
  // In a frame that is not displayed yet the width is 0.
  const inner = Math.max(60, canvas.clientWidth - margin.left - margin.right);
  const [context] = prepared(canvas, Math.round(inner / ratio) + margin.top + margin.bottom);
  const box = {x: margin.left, y: margin.top, width: inner, height: Math.round(inner / ratio)};
  const across = x => box.x + ((x - low[0]) / (high[0] - low[0])) * box.width;
  const up = y => box.y + (1 - (y - low[1]) / (high[1] - low[1])) * box.height;
  const toPlace = ([x, y]) => [across(x), up(y)];
  const {columns, rows, surfaces} = grid;
  const classAt = i => {
    const [label, lead] = leading(surfaces, i);
    return mixed(theme.ground, theme.shades[label], 0.25 + 0.75 * lead);
  };
  const image = inside || (curve ? null : picture(columns, rows, classAt));
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  if (image) stretch(context, image, box.x, box.y, box.width, box.height);
  Object.assign(context, {strokeStyle: theme.ink, lineWidth: 1.8, lineJoin: "round", globalAlpha: inside ? 0.35 : 1});
  const place = (x, y) => [box.x + (x / (columns - 1)) * box.width, box.y + (1 - y / (rows - 1)) * box.height];
  for (const surface of curve ? [] : leads(surfaces)) traceZero(context, surface, columns, rows, place);
  context.globalAlpha = 1;
  context.setLineDash(truth ? [6, 4] : []);
  for (const line of truth ?? [curve ?? []]) trace(context, line.map(toPlace));
  context.setLineDash([]);
  const size = Math.max(3.2, Math.min(5.5, inner / 80, 70 / Math.sqrt(points.length)));
  const mark = ({numbers: [x, y], label, test}, size) => drawMarker(context, label, across(x), up(y), size, test);
  for (const point of points) mark(point, size);
  if (points[chosen]) {
    const [x, y] = points[chosen].numbers;
    mark(points[chosen], size + 2);
    context.beginPath();
    context.arc(across(x), up(y), size + 6, 0, 2 * Math.PI);
    context.lineWidth = 2.5;
    context.stroke();
  }
  context.restore();

  const below = {textAlign: "center", textBaseline: "top"};
  Object.assign(context, {strokeStyle: theme.frame, lineWidth: 1, fillStyle: theme.faint, ...below});
  context.strokeRect(box.x, box.y, box.width, box.height);
  for (const [x, text] of ticks(low[0], high[0], Math.max(2, inner / 90)))
    context.fillText(text, across(x), box.y + box.height + 5);
  Object.assign(context, {textAlign: "right", textBaseline: "middle"});
  for (const [y, text] of marks) context.fillText(text, box.x - 5, Math.max(10, up(y)));
  return {
    across,
    up,
    size,
    isInside: (left, top) => left >= box.x && left <= box.x + box.width && top >= box.y && top <= box.y + box.height,
    // where a whole marker can be seen
    at: (left, top) => {
      const within = (x, room) => Math.max(size, Math.min(room - size, x)) / room;
      const [x, y] = [within(left - box.x, box.width), within(top - box.y, box.height)];
      return [low[0] + x * (high[0] - low[0]), high[1] - y * (high[1] - low[1])];
    },
  };
}

// A list of classes with their markers. Names are text, never markup.
//   threshold  of a single score, which is above it for class 1; null for several scores
//   hollow     what the points that are drawn hollow are for, if there are any
export function drawLegend(list, names, {threshold = null, hollow = ""} = {}) {
  const entry = (label, isHollow, ...text) => make("li", "", markerOf(label, 3, isHollow), ...text);
  const classes = names.map((name, label) => {
    const score = threshold === null ? "" : `:\u00a0{{term.score}} ${label ? ">" : "<"} ${threshold}`;
    const named = partsOf("{{plane.class}}", {name: make("bdi", {title: name}, name)});
    return entry(label, false, ...named.map(part => part.replaceAll?.(" ", "\u00a0") ?? part), score);
  });
  const last = hollow ? [entry(0, true, filled("{{plane.hollow}}", {what: hollow}))] : [];
  list.replaceChildren(...classes, ...last);
}

// A small canvas with the marker of a class.
export function markerOf(label, density, isHollow = false) {
  const canvas = make("canvas", {width: 18 * density, height: 18 * density, "aria-hidden": true});
  const context = canvas.getContext("2d");
  context.scale(density, density);
  drawMarker(context, label, 9, 9, 6, isHollow);
  return canvas;
}
