// The network: columns of neurons, each with a small map of what it sees, and lines for the weights.

import {make} from "../shared/elements.js";
import {filled} from "../shared/texts.js";
import {prepared, stretch, theme} from "./canvas.js";

export const INPUTS = ["x₁", "x₂"];
const SAID = {output: "{{net.below.output}}", gradient: "{{net.below.gradient}}"}; // below a neuron

// Connects the picture to its place, which gets a canvas for the lines and a button for each neuron.
//   onNeuron(layer, index)       a neuron was pressed; layers count from 1, layer 0 is the inputs
//   onPoint(layer, index)        a neuron is pointed at, or null
//   onLine(layer, index, input)  a line was pressed
//   onSize(layer, change)        neurons are to be added to a layer, or removed; null: no such buttons
export function makeNetwork(place, {onNeuron, onPoint, onLine = null, onSize = null}) {
  const canvas = make("canvas", {role: "img"});
  place.replaceChildren(canvas);
  let shape = "",
    buttons = [],
    heads = [],
    lines = [],
    hovered = null;

  // A button for each neuron, and above each layer its size.
  function build(sizes, called) {
    const neuron = (layer, index) => {
      const name = called(layer, index),
        point = () => onPoint(layer, index),
        leave = () => onPoint(null, index);
      return make(
        "button",
        {
          class: "neuron",
          "aria-label": name,
          title: name,
          click: () => onNeuron(layer, index),
          pointerenter: point,
          pointerleave: leave,
          focus: point,
          blur: leave,
        },
        ...(layer ? [] : [make("i")]),
        make("canvas", {width: 30, height: 30}),
        make("span"),
      );
    };
    const change = (layer, by, text, isMost, title) => {
      const name = filled(title, {n: layer});
      const made = make("button", {title: name, "aria-label": name, click: () => onSize(layer, by)}, text);
      made.disabled = isMost;
      return made;
    };
    const head = (size, layer) => {
      if (layer === 0) return ["{{net.inputs}}"];
      if (layer === sizes.length - 1) return [size > 1 ? "{{net.scores}}" : "{{net.score}}"];
      if (!onSize) return [size];
      return [
        change(layer, -1, "−", size === 1, "{{net.fewer}}"),
        size,
        change(layer, 1, "+", size === 8, "{{net.more}}"),
      ];
    };
    buttons = sizes.map((size, layer) => Array.from({length: size}, (_, i) => neuron(layer, i)));
    heads = sizes.map((size, layer) => make("div", "layer-head", ...head(size, layer)));
    place.replaceChildren(canvas, ...buttons.flat(), ...heads);
  }

  // sizes; called(layer, index): the name of a neuron; thickness(layer, index, input): a signed number,
  // 1 for a thick line, NaN for one that is not known; hue: "sign" or "gradient"; map(layer, index): an
  // image or null; below(layer, index): [{text, kind}] to write below a neuron; chosen: {layer, index,
  // input}, which the other lines step back for; marked: a line to draw in black; height: in pixels.
  function draw({sizes, called, thickness, hue, map, below, chosen, marked = null, height}) {
    if (shape !== sizes.join()) {
      build(sizes, called);
      shape = sizes.join();
    }
    const [context, width] = prepared(canvas, height);
    const hasMaps = !!map(sizes.length - 1, 0),
      hasText = below(sizes.length - 1, 0).length > 0;
    const top = 34,
      gap = (height - top) / Math.max(4, ...sizes);
    const most = Math.min(hasMaps ? 44 : 22, gap - (hasText ? 15 : 5), width / sizes.length / 2);
    const side = Math.max(10, most);
    const margin = Math.max(side / 2 + 8, 36);
    const x = layer => margin + (layer / Math.max(1, sizes.length - 1)) * (width - 2 * margin);
    const y = (layer, i) => top + (height - top) / 2 + (i - (sizes[layer] - 1) / 2) * gap - (hasText ? 6 : 0);

    lines = [];
    for (let layer = 1; layer < sizes.length; layer++) {
      for (let i = 0; i < sizes[layer]; i++) {
        for (let j = 0; j < sizes[layer - 1]; j++) {
          const weight = thickness(layer, i, j),
            size = Math.min(1, Math.abs(weight)) || 0;
          const isChosen = chosen && isSame(chosen, {layer, index: i, input: j});
          const isNear =
            chosen &&
            chosen.input === undefined &&
            chosen.index === (chosen.layer === layer ? i : chosen.layer === layer - 1 ? j : NaN);
          const from = [x(layer - 1) + side / 2, y(layer - 1, j)],
            to = [x(layer) - side / 2, y(layer, i)];
          lines.push({layer, index: i, input: j, from, to});
          context.globalAlpha = isChosen || isNear ? 1 : (0.55 + 0.45 * size) * (chosen ? 0.6 : 1);
          context.strokeStyle = Number.isNaN(weight)
            ? theme.hairline
            : hue === "gradient"
              ? theme.gradient
              : weight < 0
                ? theme.negative
                : theme.positive;
          context.lineWidth = 0.9 + 5.1 * size + (isChosen ? 2 : 0);
          context.setLineDash(hue === "gradient" && weight < 0 ? [5, 4] : []);
          bend(context, from, to);
        }
      }
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.strokeStyle = theme.ink;
    for (const [line, thick] of [
      [hovered, 1.5],
      [marked, 3],
    ]) {
      const found = line && lines.find(l => isSame(l, line));
      context.lineWidth = thick;
      if (found) bend(context, found.from, found.to);
    }
    sizes.forEach((size, layer) => {
      heads[layer].style.left = `${x(layer)}px`;
      const isOuter = layer === 0 || layer === sizes.length - 1;
      heads[layer].style.top = `${isOuter ? Math.max(2, y(layer, 0) - side / 2 - 24) : 2}px`;
      for (let i = 0; i < size; i++) {
        const button = buttons[layer][i],
          image = map(layer, i);
        Object.assign(button.style, {
          left: `${x(layer) - side / 2}px`,
          top: `${y(layer, i) - side / 2}px`,
          width: `${side}px`,
          height: `${side}px`,
        });
        button.classList.toggle(
          "chosen",
          !!chosen && chosen.layer === layer && chosen.index === i && chosen.input === undefined,
        );
        if (image && button.image !== image) {
          button.image = image;
          const small = button.querySelector("canvas").getContext("2d");
          small.clearRect(0, 0, 30, 30);
          stretch(small, image, 0, 0, 30, 30);
        }
        button.classList.toggle("plain", !image);
        if (layer === 0) button.firstChild.textContent = INPUTS[i] ?? `x${i + 1}`;
        const parts = below(layer, i);
        button.lastChild.replaceChildren(...parts.map(({text, kind}) => make("span", kind, text)));
        button.setAttribute(
          "aria-label",
          [called(layer, i), ...parts.map(({text, kind}) => filled(SAID[kind], {x: text}))].join(", "),
        );
      }
    });
  }

  const isSame = (a, b) => a.layer === b.layer && a.index === b.index && a.input === b.input;
  const bend = (context, from, to) => {
    const [[x1, y1], [x2, y2]] = [from, to];
    const middle = (x1 + x2) / 2;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(middle, y1, middle, y2, x2, y2);
    context.stroke();
  };

  // The line nearest to a pointer, at most `reach` pixels away.
  function lineAt(event, reach) {
    const area = canvas.getBoundingClientRect();
    const left = event.clientX - area.left,
      top = event.clientY - area.top;
    let best = null,
      least = reach;
    for (const line of lines) {
      const [[x1, y1], [x2, y2]] = [line.from, line.to];
      if (left < x1 - reach || left > x2 + reach) continue;
      const at = inverse((left - x1) / (x2 - x1)),
        height = y1 + (y2 - y1) * at * at * (3 - 2 * at);
      // The distance across the line, whose slope may be steep.
      const slope = ((y2 - y1) * 6 * at * (1 - at)) / Math.max(1, x2 - x1);
      const distance = Math.abs(top - height) / Math.hypot(1, slope);
      if (distance < least) [best, least] = [line, distance];
    }
    return best;
  }
  // Where along the curve a share of its width is reached: x(t) = 1.5 t - 1.5 t² + t³ of the width.
  const inverse = share => {
    let low = 0,
      high = 1;
    for (let k = 0; k < 20; k++) {
      const t = (low + high) / 2;
      if (1.5 * t - 1.5 * t * t + t ** 3 < share) low = t;
      else high = t;
    }
    return low;
  };
  canvas.addEventListener("pointermove", event => {
    if (!onLine) return;
    hovered = lineAt(event, 6);
    canvas.style.cursor = hovered ? "pointer" : "";
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = null;
  });
  canvas.addEventListener("click", event => {
    const line = onLine && lineAt(event, 12);
    if (line) onLine(line.layer, line.index, line.input);
  });

  return {
    draw,
    describe: text => canvas.setAttribute("aria-label", text),
    middle: (layer, index, input) => {
      const line = lines.find(l => isSame(l, {layer, index, input}));
      return [0, 1].map(k => (line.from[k] + line.to[k]) / 2);
    },
  };
}
