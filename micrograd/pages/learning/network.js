// The network: columns of neurons, each with a small map of what it sees, and lines for the weights.

import {$, button, make, press, strong} from "../shared/elements.js";
import {rough, shareOf} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {em, stretch, theme} from "./canvas.js";

const MOST_MOVES = 12; // lines with the move of their weight; of more lines only the marked one has it
const SAID = {output: "{{net.below.output}}", gradient: "{{net.below.gradient}}"}; // below a neuron

export const thickest = (isGradient, most) =>
  filled(isGradient ? "{{net.thickest.gradient}}" : "{{net.thickest.weight}}", {x: rough(most, 3)});

const longest = (names, most) => names.reduce((n, name) => Math.max(n, Math.min(most, name.length)), 0);
const isSame = (a, b) => a.layer === b.layer && a.index === b.index && a.input === b.input;

// Connects the picture to its place, which gets a drawing of the lines and a button for each neuron.
//   onNeuron(layer, index)       a neuron was pressed; layers count from 1, layer 0 is the inputs
//   onPoint(layer, index)        a neuron is pointed at; or none, if the layer is null
//   onLine(layer, index, input)  a line was pressed
//   onSize(layer, change)        neurons are to be added to a layer, or removed; null: no such buttons
/** @param {any} place @param {Record<string, any>} listeners */
export function makeNetwork(place, {onNeuron, onPoint, onLine, onSize}) {
  const drawing = make("svg", {role: "img"});
  let shape = "",
    buttons = [],
    heads = [],
    lines = [];

  // A line for each weight, a button for each neuron, and above each layer its size.
  function build(sizes, called) {
    const neuron = (layer, index) => {
      const name = called(layer, index),
        point = () => onPoint(layer, index),
        leave = () => onPoint(null, index);
      const listeners = {pointerenter: point, pointerleave: leave, focus: point, blur: leave};
      const about = {class: "neuron", "aria-label": name, title: name, click: () => onNeuron(layer, index)};
      const inside = [make("i", layer ? "after" : ""), make("canvas", {width: 30, height: 30})];
      return make("button", {...about, ...listeners}, ...inside, make("em"), make("span"));
    };
    const change = (n, by, text, disabled, told) => {
      const title = filled(told, {n});
      const made = button(text, () => onSize(n, by), title);
      return Object.assign(made, {title, disabled});
    };
    const head = (size, n) => {
      if (n === 0) return ["{{net.inputs}}"];
      if (n === sizes.length - 1) return [size > 1 ? "{{net.scores}}" : "{{term.score}}"];
      if (!onSize) return [size];
      return [change(n, -1, "−", size === 1, "{{net.fewer}}"), size, change(n, 1, "+", size >= 8, "{{net.more}}")];
    };
    buttons = sizes.map((size, layer) => Array.from({length: size}, (_, i) => neuron(layer, i)));
    heads = sizes.map((size, layer) => make("div", "layer-head", ...head(size, layer)));
    const linesTo = (neurons, layer) =>
      neurons.flatMap((_, index) => (buttons[layer - 1] ?? []).map((_, input) => lineOf({layer, index, input})));
    lines = buttons.flatMap(linesTo);
    onPoint(null); // the neuron pointed at is gone
    drawing.replaceChildren(...lines.map(({group}) => group), make("g"));
    place.replaceChildren(drawing, ...buttons.flat(), ...heads);
  }

  // Its colour, a thin line over it that shows the one pointed at, and room for the pointer around it.
  function lineOf(weight) {
    const click = () => onLine(weight.layer, weight.index, weight.input);
    const paths = [make("path"), ...(onLine ? [make("path", "over"), make("path", {class: "reach", click})] : [])];
    return {...weight, paths, group: make("g", onLine ? "line" : "", ...paths), from: [0, 0], to: [0, 0]};
  }

  // sizes; called(layer, index): the name of a neuron; state(layer, index): what is wrong with it, or ""; ends: names beside the inputs and the outputs; hue: "weights" or "gradients"; number(layer, index,
  // input): the one that the line shows, NaN if it is not known; most: that of a thick line; map(layer, index): an
  // image or null; below(layer, index): [{text, kind}] to write below a neuron; chosen: {layer, index,
  // input}, which the other lines step back for; marked: a line to draw in black; moves(layer, index,
  // input): how the weight of a line moved, in words, or null; height: in pixels.
  /** @param {any} about */
  function draw({sizes, called, state, ends, hue, number, most, map, below, chosen, marked, moves, height}) {
    if (shape !== sizes.join()) {
      build(sizes, called);
      shape = sizes.join();
    }
    const isGradient = hue === "gradients";
    showKey(sizes, isGradient, most);
    const width = Math.max(1, place.clientWidth);
    drawing.setAttribute("height", height);
    const hasMaps = !!map(sizes.length - 1, 0),
      hasText = below(sizes.length - 1, 0).length > 0;
    const top = 2.3 * em(),
      gap = (height - top) / Math.max(4, ...sizes);
    const room = Math.min(hasMaps ? 44 : 22, gap - (hasText ? 15 : 5), width / sizes.length / 2);
    const side = Math.max(10, room);
    const margin = Math.max(side / 2 + 8, 36);
    const [before, after] = ends.map(names =>
      Math.max(margin, side / 2 + 14 + 8 * longest(names, Math.min(12, width / 45))),
    );
    const x = layer => before + (layer / Math.max(1, sizes.length - 1)) * (width - before - after);
    const y = (layer, i) => top + (height - top) / 2 + (i - (sizes[layer] - 1) / 2) * gap - (hasText ? 6 : 0);

    for (const line of lines) {
      const {layer, index, input, paths} = line;
      const weight = number(layer, index, input) / most,
        size = shareOf(weight, 1);
      const isChosen = chosen && isSame(chosen, line);
      const joined = {[layer]: index, [layer - 1]: input};
      const isNear = chosen && chosen.input === undefined && chosen.index === joined[chosen.layer];
      line.from = [x(layer - 1) + side / 2, y(layer - 1, input)];
      line.to = [x(layer) - side / 2, y(layer, index)];
      const hue = isGradient ? "gradient" : weight < 0 ? "negative" : "positive";
      for (const path of paths) path.setAttribute("d", bend(line));
      Object.assign(paths[0].style, {
        opacity: isChosen || isNear ? 1 : (0.55 + 0.45 * size) * (chosen ? 0.6 : 1),
        stroke: Number.isNaN(weight) ? theme.hairline : weight ? theme[hue] : theme.frame, // 0 has no sign
        strokeWidth: 0.9 + 5.1 * size + (isChosen ? 2 : 0),
        strokeDasharray: isGradient && weight < 0 ? "5 4" : "",
      });
      line.group.classList.toggle("marked", !!marked && isSame(line, marked));
    }
    drawing.lastChild.replaceChildren();
    if (moves) writeMoves(marked, moves);
    sizes.forEach((size, layer) => {
      heads[layer].style.left = `${x(layer)}px`;
      const isOuter = layer === 0 || layer === sizes.length - 1;
      heads[layer].style.top = `${isOuter ? Math.max(2, y(layer, 0) - side / 2 - 1.6 * em()) : 2}px`;
      for (let i = 0; i < size; i++) {
        const own = buttons[layer][i],
          image = map(layer, i);
        const [left, top] = [x(layer) - side / 2, y(layer, i) - side / 2];
        own.style.cssText = `left: ${left}px; top: ${top}px; width: ${side}px; height: ${side}px`;
        own.classList.toggle("chosen", !!chosen && isSame(chosen, {layer, index: i, input: undefined}));
        if (image && own.image !== image) {
          own.image = image;
          const small = own.querySelector("canvas").getContext("2d");
          small.clearRect(0, 0, 30, 30);
          stretch(small, image, 0, 0, 30, 30);
        }
        own.classList.toggle("plain", !image);
        const end = ends[{0: 0, [sizes.length - 1]: 1}[layer]]?.[i] ?? "";
        own.firstChild.textContent = end;
        own.firstChild.style.maxWidth = `${(layer ? after : before) - side / 2 - 6}px`;
        const wrong = layer ? state(layer, i) : "";
        own.querySelector("em").textContent = wrong;
        const parts = below(layer, i);
        own.lastChild.replaceChildren(...parts.map(({text, kind}) => make("span", kind, text)));
        const said = parts.map(({text, kind}) => filled(SAID[kind], {x: text}));
        own.setAttribute("aria-label", [called(layer, i), ...(wrong ? [wrong] : []), ...said].join(", "));
      }
    });
  }

  // The moves of weights, each on its line where there is room for it; of many lines, that of the marked one.
  function writeMoves(marked, moves) {
    const written = [],
      first = lines.filter(line => marked && isSame(line, marked));
    for (const line of new Set([...first, ...(lines.length > MOST_MOVES ? [] : lines)])) {
      const {from, to, paths} = line,
        text = make("text", {"text-anchor": "middle"}, moves(line.layer, line.index, line.input));
      drawing.lastChild.append(text);
      const half = text.getComputedTextLength() / 2 + 4;
      const places = [0.5, 0.4, 0.6, 0.3, 0.7].map(at => paths[0].getPointAtLength(at * paths[0].getTotalLength()));
      const isFree = ({x, y}) =>
        x - half > from[0] &&
        x + half < to[0] &&
        written.every(other => Math.abs(other.x - x) > half + other.half || Math.abs(other.y - y) > 18);
      const {x, y} = places.find(isFree) ?? {};
      text.remove();
      if (x === undefined) continue;
      written.push({x, y, half});
      drawing.lastChild.append(make("rect", {x: x - half, y: y - 9, width: 2 * half, height: 18}), text);
      for (const [key, value] of Object.entries({x, y: y + 4})) text.setAttribute(key, value);
    }
  }

  // What the lines show: on the two buttons, in the key, and in words.
  function showKey(sizes, isGradient, most) {
    for (const name of ["weights", "gradients"]) press(`show-${name}`, isGradient === (name === "gradients"));
    const keys = isGradient
      ? [strong("{{net.key.both}}", "gradient")]
      : [strong("{{net.key.positive}}", "positive"), " ", strong("{{net.key.negative}}", "negative")];
    $("key-lines").replaceChildren(...keys);
    const words = filled("{{net.says}} ", {n: sizes[0], sizes: sizes.slice(1).join(", ")});
    drawing.setAttribute("aria-label", words + (most > 0 ? thickest(isGradient, most) : "{{net.nothing}}"));
  }

  const bend = ({from: [a, b], to: [c, d]}) => `M${a} ${b}C${(a + c) / 2} ${b} ${(a + c) / 2} ${d} ${c} ${d}`;

  return {draw};
}
