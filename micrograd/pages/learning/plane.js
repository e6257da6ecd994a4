// The plane: the class that the model gives to each place, the boundary between them, and the points.

import {make} from "../shared/elements.js";
import {filled, partsOf} from "../shared/texts.js";
import {mixed, picture, prepared, stretch, theme, ticks} from "./canvas.js";

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
  return surfaces.map((own, k) =>
    own.map((z, i) => {
      let best = -Infinity;
      surfaces.forEach((other, j) => {
        if (j !== k && other[i] > best) best = other[i];
      });
      return z - best;
    }),
  );
}

// The leading class and its lead over the next in probability: 0 on the boundary, 1 if certain.
function leading(surfaces, i) {
  if (surfaces.length === 1) return [surfaces[0][i] > 0 ? 1 : 0, Math.abs(Math.tanh(surfaces[0][i] / 2))];
  let first = 0,
    second = -1,
    total = 0;
  for (let k = 1; k < surfaces.length; k++) {
    if (surfaces[k][i] > surfaces[first][i]) {
      second = first;
      first = k;
    } else if (second < 0 || surfaces[k][i] > surfaces[second][i]) second = k;
  }
  for (const surface of surfaces) total += Math.exp(surface[i] - surfaces[first][i]);
  return [first, (1 - Math.exp(surfaces[second][i] - surfaces[first][i])) / total];
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
      if (points.length === 4 && a + b + c + d > 0 === a > 0) points.push(points.shift());
      points.forEach((p, k) => context[k % 2 ? "lineTo" : "moveTo"](...place(...p)));
    }
  }
  context.stroke();
}

// Paths in the unit circle, one for each class: the same markers as in the plots.
const MARKERS = [
  c => c.arc(0, 0, 0.85, 0, 2 * Math.PI),
  c => polygon(c, [0, -1, 0.95, 0.8, -0.95, 0.8]),
  c => c.rect(-0.75, -0.75, 1.5, 1.5),
  c => polygon(c, [0, -1, 1, 0, 0, 1, -1, 0]),
  c => polygon(c, [0, 1, 0.95, -0.8, -0.95, -0.8]),
  c => polygon(c, cross(0)),
  c => polygon(c, cross(Math.PI / 4)),
  c => polygon(c, Array.from({length: 10}, (_, i) => turned(0, i % 2 ? -0.45 : -1.1, (i * Math.PI) / 5)).flat()),
];
function polygon(c, places) {
  for (let i = 0; i < places.length; i += 2) c[i ? "lineTo" : "moveTo"](places[i], places[i + 1]);
  c.closePath();
}
// Its arms one after the other, each with three corners.
function cross(angle) {
  const x = [0.36, 0.36, 1];
  const y = [1, 0.36, 0.36];
  const corner = i => turned(x[i % 3], y[i % 3], angle - (Math.floor(i / 3) * Math.PI) / 2);
  return Array.from({length: 12}, (_, i) => corner(i)).flat();
}
const turned = (x, y, angle) => [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];

// The marker of a class; hollow for points that the model does not learn from.
function drawMarker(context, label, x, y, size, hollow = false) {
  context.save();
  context.translate(x, y);
  context.scale(size, size);
  context.beginPath();
  MARKERS[label](context);
  context.fillStyle = hollow ? theme.panel : theme.fills[label];
  context.strokeStyle = hollow ? theme.fills[label] : theme.edges[label];
  context.lineWidth = (hollow ? 2 : 1.2) / size;
  context.fill();
  context.stroke();
  context.restore();
}

// Draws the plane and returns its geometry, for pointers.
//   grid       {columns, rows, surfaces}: a score for each class, or one, in rows from the bottom
//   inside     an image to show instead of the classes, or null
//   low, high  the corners; ratio: width over height
//   points     [{x, y, label, test}]; chosen: the index of the one to mark
//   truth      a polyline of the boundary that generated the points, or null
export function drawPlane(canvas, {grid, inside, low, high, ratio, points, chosen = -1, truth = null}) {
  const margin = {left: 30, right: 4, top: 4, bottom: 20};
  // In a frame that is not displayed yet the width is 0.
  const inner = Math.max(60, canvas.clientWidth - margin.left - margin.right);
  const [context] = prepared(canvas, Math.round(inner / ratio) + margin.top + margin.bottom);
  const box = {x: margin.left, y: margin.top, width: inner, height: Math.round(inner / ratio)};
  const across = x => box.x + ((x - low[0]) / (high[0] - low[0])) * box.width;
  const up = y => box.y + (1 - (y - low[1]) / (high[1] - low[1])) * box.height;
  const {columns, rows, surfaces} = grid;
  const image =
    inside ||
    picture(columns, rows, i => {
      const [label, lead] = leading(surfaces, i);
      return mixed(theme.ground, theme.shades[label], 0.25 + 0.75 * lead);
    });
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  stretch(context, image, box.x, box.y, box.width, box.height);
  context.strokeStyle = theme.ink;
  context.lineWidth = 1.8;
  context.lineJoin = "round";
  context.globalAlpha = inside ? 0.35 : 1;
  const place = (x, y) => [box.x + (x / (columns - 1)) * box.width, box.y + (1 - y / (rows - 1)) * box.height];
  for (const surface of leads(surfaces)) traceZero(context, surface, columns, rows, place);
  context.globalAlpha = 1;
  if (truth) {
    context.setLineDash([6, 4]);
    for (const line of truth) {
      context.beginPath();
      line.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](across(x), up(y)));
      context.stroke();
    }
    context.setLineDash([]);
  }
  const size = Math.max(3.2, Math.min(5.5, inner / 80, 70 / Math.sqrt(points.length)));
  points.forEach(({x, y, label, test}) => drawMarker(context, label, across(x), up(y), size, test));
  if (points[chosen]) {
    const {x, y, label, test} = points[chosen];
    drawMarker(context, label, across(x), up(y), size + 2, test);
    context.beginPath();
    context.arc(across(x), up(y), size + 6, 0, 2 * Math.PI);
    context.lineWidth = 2.5;
    context.stroke();
  }
  context.restore();

  context.strokeStyle = theme.frame;
  context.lineWidth = 1;
  context.strokeRect(box.x, box.y, box.width, box.height);
  context.fillStyle = theme.faint;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const [x, text] of ticks(low[0], high[0], Math.max(2, inner / 90)))
    context.fillText(text, across(x), box.y + box.height + 5);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const [y, text] of ticks(low[1], high[1], Math.max(2, box.height / 60)))
    context.fillText(text, box.x - 5, Math.max(10, up(y)));
  return {
    across,
    up,
    size,
    isInside: (left, top) => left >= box.x && left <= box.x + box.width && top >= box.y && top <= box.y + box.height,
    at: (left, top) => [
      low[0] + ((left - box.x) / box.width) * (high[0] - low[0]),
      high[1] - ((top - box.y) / box.height) * (high[1] - low[1]),
    ],
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
