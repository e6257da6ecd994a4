"use strict";
/* The run contains, for each frame, the scores of the model on a grid, the outputs of its neurons on
   a coarser one, and the weights with their gradients, all packed as bytes. The page draws the frame
   that the slider selects and does not interpolate between frames. */

const run = JSON.parse(document.getElementById("run").textContent);
const element = (id) => document.getElementById(id);
const bytes = (text) => Uint8Array.from(atob(text || ""), (c) => c.charCodeAt(0));
const count = run.steps.length;
const several = run.names.length > 2;
const planes = several ? run.names.length : 1;
const [columns, rows] = run.grid;
const scores = new Int8Array(bytes(run.scores).buffer);
const maps = run.maps ? new Int8Array(bytes(run.maps).buffer) : null;

function shorts(text) {
  const view = new DataView(bytes(text).buffer);
  return Array.from({ length: view.byteLength / 2 }, (_, i) => view.getInt16(2 * i, true));
}
const lines = run.weights
  ? { weights: shorts(run.weights), gradients: shorts(run.gradients) } : null;

let now = 0;           // the current frame
let shown = "weights"; // what the lines of the network show
let pointed = null;    // the neuron under the pointer: {layer, index}
let timer = null;      // runs while the page plays
let printing = false;

// ---- Colours, read from the page's style: light and dark are defined there only

let theme = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  document.documentElement.classList.toggle("printing", printing);
  const dark = !printing && matchMedia("(prefers-color-scheme: dark)").matches;
  for (const name of ["paper", "ink", "grey", "line", "negative", "positive"]) {
    theme[name] = style.getPropertyValue("--" + name).trim();
  }
  const paper = rgb(theme.paper);
  theme.shades = run.colours.map(([fill]) => mixed(paper, rgb(fill), dark ? 0.5 : 0.46));
  const [negative, positive] = [theme.negative, theme.positive].map((c) => mixed(paper, rgb(c), 0.8));
  theme.signs = [negative, paper, positive];
  theme.paperRgb = paper;
}
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const mixed = (a, b, share) => a.map((x, i) => x + (b[i] - x) * share);

// ---- Canvases at the resolution of the screen, with coordinates in CSS pixels

function prepared(id, ratio) {
  const canvas = element(id);
  const width = Math.max(1, canvas.clientWidth), height = Math.round(width / ratio);
  const density = Math.max(window.devicePixelRatio || 1, printing ? 3 : 1);
  const pixels = [width, height].map((n) => Math.round(n * density));
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
    [canvas.width, canvas.height] = pixels;
  }
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px " + getComputedStyle(document.body).fontFamily;
  return [context, width, height];
}

function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const found = [];
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  for (let i = first; i <= last; i++) found.push(i * step);
  return found.map((x) => [x, String(Number(x.toPrecision(6))).replace("-", "−")]);
}

// ---- The boundary

/* A surface interpolated on a finer grid: cubic pieces, clipped to the two values that they join, so
   that no class appears between two neighbours that both belong to other classes. */
const FINER = 4;
const fineOf = (n) => (n - 1) * FINER + 1;

function refined(coarse, width, height) {
  const along = (from, n, across, stride, step) => {
    const to = new Float32Array(fineOf(n) * across);
    for (let x = 0; x < fineOf(n); x++) {
      const i = Math.min(n - 2, Math.floor(x / FINER)), u = x / FINER - i;
      const weights = [u * (-1 + u * (2 - u)), 2 + u * u * (3 * u - 5), u * (1 + u * (4 - 3 * u)),
                       u * u * (u - 1)];
      const places = [Math.max(0, i - 1), i, i + 1, Math.min(n - 1, i + 2)].map((k) => k * step);
      for (let j = 0; j < across; j++) {
        const [p, q, r, s] = places.map((k) => from[k + j * stride]);
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

const fineColumns = fineOf(columns), fineRows = fineOf(rows);

/* The scores of a frame, unpacked, and interpolated before the sigmoid so that the boundary is smooth.
   Row 0 is at the bottom. */
function scoresOf(frame) {
  const start = frame * columns * rows * planes;
  return Array.from({ length: planes }, (_, plane) => {
    const coarse = Float32Array.from({ length: columns * rows }, (_, i) => {
      const b = scores[start + i * planes + plane];
      return run.units[frame] * b / (127 - Math.abs(b));
    });
    return refined(coarse, columns, rows);
  });
}

/* A surface for each class, above 0 where that class leads; for two classes, one surface is enough. */
function leads(fine) {
  if (!several) return fine;
  return fine.map((own, k) => own.map((z, i) => {
    let best = -Infinity;
    fine.forEach((other, j) => { if (j !== k && other[i] > best) best = other[i]; });
    return z - best;
  }));
}

/* The leading class and its lead over the next in probability: 0 on the boundary, 1 if certain. */
function verdict(fine, i) {
  if (!several) return [fine[0][i] > 0 ? 1 : 0, Math.abs(Math.tanh(fine[0][i] / 2))];
  let first = 0, second = -1, total = 0;
  for (let k = 1; k < planes; k++) {
    if (fine[k][i] > fine[first][i]) { second = first; first = k; }
    else if (second < 0 || fine[k][i] > fine[second][i]) second = k;
  }
  for (let k = 0; k < planes; k++) total += Math.exp(fine[k][i] - fine[first][i]);
  return [first, (1 - Math.exp(fine[second][i] - fine[first][i])) / total];
}

function picture(width, height, colour) {
  const canvas = document.createElement("canvas");
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [r, g, b] = colour((height - 1 - y) * width + x), i = 4 * (y * width + x);
      image.data[i] = r; image.data[i + 1] = g; image.data[i + 2] = b; image.data[i + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/* Draws an image so that the centres of its outer pixels are on the edges of the box. */
function stretch(context, image, x, y, width, height) {
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0.5, 0.5, image.width - 1, image.height - 1, x, y, width, height);
}

/* The zero line of a surface, cell by cell: a straight piece where it crosses two sides of a cell;
   where it crosses all four, the mean of the cell decides which corners belong together. */
function traceZero(context, surface, width, height, place) {
  context.beginPath();
  for (let y = 0; y + 1 < height; y++) {
    for (let x = 0; x + 1 < width; x++) {
      const i = y * width + x;
      const a = surface[i], b = surface[i + 1], c = surface[i + width + 1], d = surface[i + width];
      if ((a > 0) === (b > 0) && (b > 0) === (c > 0) && (c > 0) === (d > 0)) continue;
      const points = [];
      if ((a > 0) !== (b > 0)) points.push([x + a / (a - b), y]);
      if ((b > 0) !== (c > 0)) points.push([x + 1, y + b / (b - c)]);
      if ((d > 0) !== (c > 0)) points.push([x + d / (d - c), y + 1]);
      if ((a > 0) !== (d > 0)) points.push([x, y + a / (a - d)]);
      if (points.length === 4 && (a + b + c + d > 0) === (a > 0)) points.push(points.shift());
      points.forEach((p, k) => context[k % 2 ? "lineTo" : "moveTo"](...place(...p)));
    }
  }
  context.stroke();
}

const MARKERS = [ // paths in the unit circle: the same markers as in the other plots
  (c) => c.arc(0, 0, 0.85, 0, 2 * Math.PI),
  (c) => polygon(c, [[0, -1], [0.95, 0.8], [-0.95, 0.8]]),
  (c) => c.rect(-0.75, -0.75, 1.5, 1.5),
  (c) => polygon(c, [[0, -1], [1, 0], [0, 1], [-1, 0]]),
  (c) => polygon(c, [[0, 1], [0.95, -0.8], [-0.95, -0.8]]),
  (c) => polygon(c, cross(0)),
  (c) => polygon(c, cross(Math.PI / 4)),
  (c) => polygon(c, Array.from({ length: 10 }, (_, i) => {
    const angle = i * Math.PI / 5, r = i % 2 ? 0.45 : 1.1;
    return [r * Math.sin(angle), -r * Math.cos(angle)];
  })),
];
function polygon(c, corners) {
  corners.forEach((corner, i) => c[i ? "lineTo" : "moveTo"](...corner));
  c.closePath();
}
function cross(angle) {
  const cos = Math.cos(angle), sin = Math.sin(angle), w = 0.36;
  return [[w, 1], [w, w], [1, w], [1, -w], [w, -w], [w, -1],
          [-w, -1], [-w, -w], [-1, -w], [-1, w], [-w, w], [-w, 1]]
    .map(([x, y]) => [x * cos - y * sin, x * sin + y * cos]);
}
function drawMarker(context, label, x, y, size) {
  const [fill, edge] = run.colours[label];
  context.save();
  context.translate(x, y);
  context.scale(size, size);
  context.beginPath();
  MARKERS[label](context);
  context.fillStyle = fill; context.strokeStyle = edge; context.lineWidth = 1.2 / size;
  context.fill(); context.stroke();
  context.restore();
}

function drawBoundary() {
  const margin = { left: 34, right: 6, top: 4, bottom: 22 };
  const available = Math.max(0.6, Math.min(run.ratio, 2.4));
  // In a frame that is not displayed yet the width is 0, and the height would have no limit.
  const full = Math.max(100, element("boundary").clientWidth);
  const inner = full - margin.left - margin.right;
  const [context, width, height] =
    prepared("boundary", full / (inner / available + margin.top + margin.bottom));
  const box = { x: margin.left, y: margin.top, width: inner };
  box.height = height - margin.top - margin.bottom;

  const fine = scoresOf(now);
  const looksInside = pointed && maps;
  if (looksInside) {
    stretch(context, mapOf(pointed), box.x, box.y, box.width, box.height);
  } else {
    const image = picture(fineColumns, fineRows, (i) => {
      const [label, lead] = verdict(fine, i);
      return mixed(theme.paperRgb, theme.shades[label], lead);
    });
    stretch(context, image, box.x, box.y, box.width, box.height);
  }
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  context.strokeStyle = theme.ink; context.lineWidth = 1.8; context.lineJoin = "round";
  context.globalAlpha = looksInside ? 0.35 : 1;
  const place = (x, y) => [box.x + x / (fineColumns - 1) * box.width,
                           box.y + (1 - y / (fineRows - 1)) * box.height];
  for (const surface of leads(fine)) traceZero(context, surface, fineColumns, fineRows, place);
  context.globalAlpha = 1;
  const size = Math.max(2.2, Math.min(5.5, width / 100, 60 / Math.sqrt(run.points.length)));
  run.points.forEach(([x, y], i) => {
    drawMarker(context, run.labels[i], box.x + x * box.width, box.y + (1 - y) * box.height, size);
  });
  context.restore();

  context.strokeStyle = theme.line; context.lineWidth = 1;
  context.strokeRect(box.x, box.y, box.width, box.height);
  context.fillStyle = theme.grey; context.textAlign = "center"; context.textBaseline = "top";
  for (const [x, text] of ticks(run.low[0], run.high[0], Math.max(2, inner / 90))) {
    const share = (x - run.low[0]) / (run.high[0] - run.low[0]);
    context.fillText(text, box.x + share * box.width, box.y + box.height + 5);
  }
  context.textAlign = "right"; context.textBaseline = "middle";
  for (const [y, text] of ticks(run.low[1], run.high[1], Math.max(2, box.height / 60))) {
    const share = (y - run.low[1]) / (run.high[1] - run.low[1]);
    context.fillText(text, box.x - 5, Math.max(10, box.y + (1 - share) * box.height));
  }
}

// ---- The curves

function drawCurve(id, numbers, top) {
  const [context, width, height] = prepared(id, Math.max(1.2, element(id).clientWidth / 160));
  const box = { left: 42, right: width - 6, top: 8, bottom: height - 20 };
  const known = numbers.filter((y) => y !== null);
  const high = top || Math.max(...known, 1e-9) * 1.02, low = Math.min(0, ...known);
  const end = Math.max(1, run.steps[count - 1]);
  const x = (i) => box.left + run.steps[i] / end * (box.right - box.left);
  const y = (value) => box.bottom - (value - low) / (high - low) * (box.bottom - box.top);

  context.strokeStyle = theme.line; context.lineWidth = 1;
  context.beginPath();
  context.moveTo(box.left, box.top); context.lineTo(box.left, box.bottom);
  context.lineTo(box.right, box.bottom); context.stroke();
  context.fillStyle = theme.grey; context.textBaseline = "top";
  for (const [step, text] of ticks(0, end, 3)) {
    if (!Number.isInteger(step)) continue;
    const isLast = step > 0.9 * end, place = box.left + step / end * (box.right - box.left);
    context.textAlign = isLast ? "right" : "center";
    context.fillText(text, isLast ? Math.min(width, place + 6) : place, box.bottom + 4);
  }
  context.textAlign = "right"; context.textBaseline = "middle";
  for (const [value, text] of ticks(low, high, 3)) {
    context.fillText(top ? 100 * value + "%" : text, box.left - 5, y(value));
  }
  const trace = (until, colour, thick) => {
    context.strokeStyle = colour; context.lineWidth = thick; context.lineJoin = "round";
    context.beginPath();
    let pen = "moveTo";
    for (let i = 0; i <= until; i++) {
      if (numbers[i] === null) { pen = "moveTo"; continue; }
      context[pen](x(i), y(numbers[i]));
      pen = "lineTo";
    }
    context.stroke();
  };
  trace(count - 1, theme.line, 1.5);
  trace(now, theme.ink, 2.2);
  context.fillStyle = theme.ink;
  if (numbers[now] !== null) {
    context.beginPath();
    context.arc(x(now), y(numbers[now]), 4.5, 0, 2 * Math.PI);
    context.fill();
  }
}

// ---- The network

const neuronsBefore = (layer) => run.sizes.slice(1, layer).reduce((a, b) => a + b, 0);

/* The outputs of a neuron as an image; layers are counted from 1, the inputs are layer 0. */
function mapOf({ layer, index }) {
  const [width, height] = run.mapGrid, size = width * height;
  const neurons = neuronsBefore(run.sizes.length);
  const start = (now * neurons + neuronsBefore(layer) + index) * size;
  const outputs = refined(maps.subarray(start, start + size), width, height);
  const [negative, zero, positive] = theme.signs;
  return picture(fineOf(width), fineOf(height), (i) =>
    mixed(zero, outputs[i] < 0 ? negative : positive, Math.abs(outputs[i]) / 127));
}

/* The weights of a neuron and then its bias, or their gradients, in the current frame. */
function numbersOf(kind, layer, index) {
  let start = 0;
  for (let k = 1; k < layer; k++) start += run.sizes[k] * (run.sizes[k - 1] + 1);
  const width = run.sizes[layer - 1] + 1, all = lines[kind].length / count;
  const scale = run[kind === "weights" ? "weightScales" : "gradientScales"][now] / 32000;
  start += now * all + index * width;
  return lines[kind].slice(start, start + width).map((n) => n * scale);
}

let nodes = []; // where the neurons are, for the pointer

function drawNetwork() {
  const layers = run.sizes;
  const tallest = Math.max(...layers), full = Math.max(100, element("network").clientWidth);
  const isWide = element("main").classList.contains("wide");
  const height = Math.min(Math.max(170, 66 * tallest), full < 420 ? 330 : isWide ? 540 : 390);
  const [context, width] = prepared("network", full / height);
  const gap = height / Math.max(4, tallest);
  const shape = maps ? Math.max(0.6, Math.min(run.ratio, 1.7)) : 1;
  const side = Math.max(7, Math.min(gap - 6, 50));
  const node = maps ? { width: Math.min(side * shape, 0.55 * width / layers.length), height: 0 }
                    : { width: Math.min(side, 20), height: 0 };
  node.height = node.width / shape;
  const margin = Math.max(node.width / 2 + 2, 16);
  const x = (layer) => margin + layer / Math.max(1, layers.length - 1) * (width - 2 * margin);
  const y = (layer, i) => height / 2 + (i - (layers[layer] - 1) / 2) * gap;
  nodes = [];

  const known = shown === "weights" || run.hasGradients[now];
  // Weights have one scale for the whole run, to show their growth. On one scale, gradients would soon
  // be too small to see.
  const scale = shown === "weights" ? Math.max(...run.weightScales) : run.gradientScales[now];
  for (let layer = 1; layer < layers.length; layer++) {
    for (let i = 0; i < layers[layer]; i++) {
      const own = numbersOf(shown, layer, i);
      for (let j = 0; j < layers[layer - 1]; j++) {
        const size = known ? Math.abs(own[j]) / scale : 0;
        const touched = pointed && ((pointed.layer === layer && pointed.index === i)
          || (pointed.layer === layer - 1 && pointed.index === j));
        context.globalAlpha = pointed && !touched ? 0.12 : 0.35 + 0.65 * Math.min(1, 2 * size);
        context.strokeStyle = !known ? theme.line : own[j] < 0 ? theme.negative : theme.positive;
        context.lineWidth = 0.4 + 5 * size;
        const from = x(layer - 1) + (layer > 1 ? node.width / 2 : 8);
        const to = x(layer) - node.width / 2, middle = (from + to) / 2;
        const [start, end] = [y(layer - 1, j), y(layer, i)];
        context.beginPath();
        context.moveTo(from, start);
        context.bezierCurveTo(middle, start, middle, end, to, end);
        context.stroke();
      }
    }
  }
  context.globalAlpha = 1;
  context.textAlign = "center"; context.textBaseline = "middle";
  layers.forEach((size, layer) => {
    for (let i = 0; i < size; i++) {
      const left = x(layer) - node.width / 2, top = y(layer, i) - node.height / 2;
      const isPointed = pointed && pointed.layer === layer && pointed.index === i;
      if (layer === 0) {
        context.fillStyle = theme.ink;
        context.font = "600 " + context.font.replace(/^600 /, "");
        context.fillText("x" + (i + 1), x(0) - 4, y(0, i));
        continue;
      }
      nodes.push({ layer, index: i, left, top, width: node.width, height: node.height });
      context.beginPath();
      context.roundRect(left, top, node.width, node.height, maps ? 3 : node.width / 2);
      context.fillStyle = theme.paper;
      context.fill();
      if (maps) stretch(context, mapOf({ layer, index: i }), left, top, node.width, node.height);
      context.strokeStyle = isPointed ? theme.ink : theme.grey;
      context.lineWidth = isPointed ? 2.5 : 1;
      context.stroke();
    }
  });
  const most = shortly(scale);
  element("network").setAttribute("aria-label",
    `Network of ${layers[0]} inputs and layers of ${layers.slice(1).join(", ")} neurons. `
    + (known ? `The largest of the ${shown} is ${most} in size.` : "No gradients are known here."));
  element("about").textContent = pointed ? aboutNeuron(pointed, known)
    : known ? `Thickest line: ${shown === "weights" ? "weight" : "gradient"} of ±${most}. `
      + (maps ? "Point at a neuron to see its output over the plane." : "")
    : "No gradients are known at this step: the weights have changed since the last backward pass.";
}
const shortly = (x) => String(Number(x.toPrecision(3))).replace("-", "−");

function aboutNeuron({ layer, index }, known) {
  const who = layer === run.sizes.length - 1 ? "Output" : `Layer ${layer}, neuron`;
  if (!known) return `${who} ${index + 1}: no gradients are known at this step.`;
  const own = numbersOf(shown, layer, index).map(shortly), bias = own.pop(), most = 8;
  return `${who} ${index + 1}: ${shown} ${own.slice(0, most).join(", ")}`
    + (own.length > most ? ", …" : "")
    + `; ${shown === "weights" ? "bias" : "gradient of the bias"} ${bias}`;
}

// ---- The whole frame

const percent = (share) => (100 * share).toFixed(share === 1 ? 0 : 1) + "%";
function decimals(x) {
  if (x === null) return "not known";
  return Math.abs(x) < 1e-3 ? x.toExponential(1) : x.toFixed(3);
}

function draw() {
  const step = run.steps[now], loss = run.losses[now], accuracy = run.accuracies[now];
  const words = `step ${step} of ${run.steps[count - 1]}, loss ${decimals(loss)}, `
    + `accuracy ${percent(accuracy)}`;
  element("slider").value = now;
  element("slider").setAttribute("aria-valuetext", words);
  // A screen reader should not announce twelve frames per second.
  element("said").setAttribute("aria-live", timer ? "off" : "polite");
  element("said").textContent = words.replaceAll(",", " ·");
  element("loss-now").textContent = decimals(loss);
  element("accuracy-now").textContent = percent(accuracy);
  element("boundary").setAttribute("aria-label",
    `Map of the ${run.points.length} points and of the class that the model predicts at each place`);
  element("loss").setAttribute("aria-label", `Curve of the loss, now ${decimals(loss)}`);
  element("accuracy").setAttribute("aria-label", `Curve of the accuracy, now ${percent(accuracy)}`);
  drawBoundary();
  drawCurve("loss", run.losses, 0);
  drawCurve("accuracy", run.accuracies, 1);
  if (lines) drawNetwork();
}

let waiting = false; // draws at most once for each refresh of the screen
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

function show(frame) {
  now = Math.max(0, Math.min(count - 1, frame));
  redraw();
}

function play(on) {
  clearInterval(timer);
  timer = null;
  if (on && count > 1) {
    if (now === count - 1) now = 0;
    timer = setInterval(() => {
      if (now < count - 1) show(now + 1);
      else if (element("loop").checked) show(0);
      else play(false);
    }, 1000 / element("speed").value);
  }
  element("play").setAttribute("aria-label", timer ? "Pause" : "Play");
  element("play").querySelector("path")
    .setAttribute("d", timer ? "M3 3h4v12H3zM11 3h4v12h-4z" : "M4 2v14l12-7z");
  redraw();
}

function go(frame) { play(false); show(frame); }

element("first").onclick = () => go(0);
element("back").onclick = () => go(now - 1);
element("play").onclick = () => play(!timer);
element("forward").onclick = () => go(now + 1);
element("last").onclick = () => go(count - 1);
element("slider").oninput = (event) => go(Number(event.target.value));
element("speed").onchange = () => { if (timer) play(true); };
document.querySelectorAll("input[name=shown]").forEach((button) => {
  button.onchange = () => { shown = button.value; redraw(); };
});

document.addEventListener("keydown", (event) => {
  const kind = event.target.tagName + (event.target.type || "");
  // Controls that use a key themselves keep it.
  if (event.ctrlKey || event.metaKey || event.altKey || kind.startsWith("SELECT")) return;
  if (event.key === " " ? /BUTTON|radio|checkbox/.test(kind) : /radio|range/.test(kind)) return;
  const act = {
    ArrowLeft: () => go(now - 1), ArrowRight: () => go(now + 1),
    Home: () => go(0), End: () => go(count - 1), " ": () => play(!timer),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

function pointAt(event) {
  const box = element("network").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  const found = nodes.find((n) =>
    x >= n.left - 3 && x <= n.left + n.width + 3 && y >= n.top - 3 && y <= n.top + n.height + 3);
  const same = found && pointed && found.layer === pointed.layer && found.index === pointed.index;
  if ((!found && !pointed) || (same && event.type === "pointermove")) return;
  pointed = found ? { layer: found.layer, index: found.index } : null;
  redraw();
}
element("network").addEventListener("pointermove", pointAt);
element("network").addEventListener("pointerdown", pointAt);
element("network").addEventListener("pointerleave", (event) => {
  if (event.pointerType === "mouse" && pointed) { pointed = null; redraw(); }
});

// ---- Start

run.names.forEach((name, label) => {
  const item = document.createElement("li"), canvas = document.createElement("canvas");
  const text = document.createElement("bdi");
  canvas.width = canvas.height = 54;
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  context.scale(3, 3);
  drawMarker(context, label, 9, 9, 6);
  text.textContent = text.title = name;
  item.append(canvas, "class ", text);
  element("legend").append(item);
});
element("slider").max = count - 1;
// Without a network, or with a wide boundary, another layout fits the curves better.
element("main").className = !run.sizes.length ? "alone" : run.ratio > 1.25 ? "wide" : "";
if (!lines) {
  element("inside").hidden = true;
  if (run.sizes.length) {
    element("inside").hidden = false;
    element("inside").textContent =
      `The network of ${run.sizes[0]} inputs and layers of ${run.sizes.slice(1).join(", ")} neurons `
      + "has too many weights to draw.";
  }
}
new ResizeObserver(redraw).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readTheme();
  redraw();
});
for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => { printing = on; readTheme(); play(false); draw(); });
}
readTheme();
play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
draw();
