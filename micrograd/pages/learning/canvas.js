// Canvases at the resolution of the screen, in the colours of the page's style.

import {make} from "../shared/elements.js";
import {rough} from "../shared/numbers.js";

const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
export const mixed = (a, b, share) => a.map((x, i) => x + (b[i] - x) * share);

// The contrast of two colours, as in draw/tokens.py.
const linear = c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const luminance = colour => colour.reduce((sum, c, i) => sum + linear(c / 255) * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => {
  const [darker, lighter] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (lighter + 0.05) / (darker + 0.05);
};

export let theme = {}; // colours by name; of fills, edges and shades one for each class, as in plot/figure.py

// Reads the colours, which only the style defines; again when light and dark change, and for paper.
export function readTheme(onPaper) {
  const root = document.documentElement;
  root.classList.toggle("on-paper", onPaper);
  const style = getComputedStyle(root),
    colour = name => style.getPropertyValue(`--${name}`).trim();
  const names = ["panel", "ink", "faint", "frame", "hairline", "positive", "negative", "gradient"];
  theme = Object.fromEntries(names.map(name => [name, colour(name)]));
  theme.onPaper = onPaper;
  theme.ground = rgb(theme.panel);
  theme.rgbInk = rgb(theme.ink);
  theme.signs = [rgb(theme.negative), rgb(theme.positive)];
  theme.fills = [0, 1, 2, 3, 4, 5, 6, 7].map(k => colour(`class-${k}`));
  theme.shades = theme.fills.map(fill => mixed(theme.ground, rgb(fill), 0.35));
  theme.edges = theme.fills.map((fill, k) => (contrast(rgb(fill), theme.shades[k]) >= 3 ? theme.panel : theme.ink));
}

// Calls `draw` in the next frame, however often it is asked for until then.
export function oncePerFrame(draw) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}

// Calls `draw` when the page must be drawn in other colours or another size.
export function redrawnWhenNeeded(draw) {
  new ResizeObserver(() => draw()).observe(document.body);
  addEventListener("resize", () => draw());
  const inColours = (isOnPaper, isNow) => () => {
    readTheme(isOnPaper);
    draw(isNow);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", inColours(false, false));
  addEventListener("beforeprint", inColours(true, true));
  addEventListener("afterprint", inColours(false, true));
}

// The size of the page's letters, in pixels.
export const em = () => parseFloat(getComputedStyle(document.body).fontSize);

// A canvas of this height, as wide as its place: its context in CSS pixels, and its width.
export function prepared(canvas, height) {
  const width = Math.max(1, canvas.clientWidth);
  const density = Math.max(devicePixelRatio || 1, theme.onPaper ? 3 : 1);
  const [columns, rows] = [width, height].map(n => Math.round(n * density));
  if (canvas.width !== columns || canvas.height !== rows) {
    [canvas.width, canvas.height] = [columns, rows];
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `${0.8 * em()}px ${getComputedStyle(document.body).fontFamily}`;
  return [context, width];
}

// Round numbers between low and high, each with its text.
export function ticks(low, high, most) {
  const least = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= least * (1 - 1e-9));
  if (!step) return [];
  const found = [],
    first = Math.ceil(low / step - 1e-9),
    last = Math.floor(high / step + 1e-9);
  for (let i = first; i <= last; i++) found.push(i * step);
  return found.map(x => [x, rough(x, 6)]);
}

// The room for the texts of ticks beside an axis, of at least so many letters.
export const roomFor = (ticks, least) => 6 + 0.52 * em() * Math.max(least, ...ticks.map(([, text]) => text.length));

// An image of width × height pixels; colour(i) is [r, g, b] of point i, whose rows begin at the bottom.
export function picture(width, height, colour) {
  const canvas = make("canvas", {width, height});
  const context = canvas.getContext("2d"),
    image = context.createImageData(width, height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const [r, g, b] = colour((height - 1 - y) * width + x);
      image.data.set([r, g, b, 255], 4 * (y * width + x));
    }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Draws a line through points [x, y]; one of null begins it anew.
export function trace(context, points) {
  context.beginPath();
  points.forEach((p, i) => p && context[points[i - 1] ? "lineTo" : "moveTo"](...p));
  context.stroke();
}

// Draws an image so that the centres of its outer pixels are on the edges of the box.
export function stretch(context, image, x, y, width, height) {
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0.5, 0.5, image.width - 1, image.height - 1, x, y, width, height);
}

// The colour of a neuron's output: blue below 0, orange above; `share` is from -1 to 1.
export const ofSign = share => mixed(theme.ground, theme.signs[share < 0 ? 0 : 1], 0.85 * Math.min(1, Math.abs(share)));
