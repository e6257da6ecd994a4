// The state of training as names and texts for its address, #data=moons&rate=0.3. What is not as it should be
// in an address is left out. Pure.

import {readAddress} from "../shared/address.js";

const inRange =
  (low, high, whole = false) =>
  text => {
    const x = Number(text);
    return text !== "" && x >= low && x <= high && (!whole || Number.isInteger(x)) ? x : undefined;
  };
const oneOf = list => text => (list.includes(text) ? text : undefined);
const NUMBERS = {
  size: inRange(2, 400, true),
  noise: inRange(0, 1),
  share: inRange(0, 0.9),
  sample: inRange(0, 1e9, true),
  seed: inRange(0, 1e9, true),
  rate: inRange(0, 1000),
  decay: inRange(0, 1000),
  batch: inRange(1, 1e9, true),
  step: inRange(0, 1e12, true),
};

// Numbers as text without loss: their bytes in base64, with the letters that addresses allow.
function packed(numbers) {
  const bytes = new Uint8Array(Float64Array.from(numbers).buffer);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
function unpacked(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
    const numbers = [...new Float64Array(bytes.buffer)];
    return numbers.every(Number.isFinite) ? numbers : undefined;
  } catch {
    return undefined;
  }
}

// state: {settings, sizes, activation, step, weights, points}; a part that is null is left out.
export function asAddress({settings, sizes, activation, step, weights, points}) {
  const pointText = ({x, y, label, test}) => `${x}_${y}_${label}${test ? "t" : ""}`;
  return {
    ...settings,
    ...(sizes && {net: sizes.slice(1, -1).join("-")}),
    ...(activation && {activation}),
    step,
    ...(weights && {weights: packed(weights)}),
    ...(points && {points: points.map(pointText).join("~")}),
  };
}

// The parts of the state that an address has, each checked by itself.
//   choices  the allowed texts of the settings `data`, `loss`, `optimizer`, and of `activation`
//   classes  number of classes
export function fromAddress(hash, choices, classes) {
  const parts = readAddress(hash);
  const settings = {};
  const state = {settings};
  for (const [name, text] of parts) {
    const read = Object.hasOwn(NUMBERS, name)
      ? NUMBERS[name]
      : Object.hasOwn(choices, name)
        ? oneOf(choices[name])
        : () => undefined;
    const value = read(text);
    if (value === undefined) continue;
    if (name === "step" || name === "activation") state[name] = value;
    else settings[name] = value;
  }
  if (parts.has("net")) {
    const hidden = parts
      .get("net")
      .split("-")
      .filter(Boolean)
      .map(inRange(1, 8, true));
    if (hidden.length <= 5 && hidden.every(n => n)) state.hidden = hidden;
  }
  if (parts.has("weights")) state.weights = unpacked(parts.get("weights"));
  if (parts.has("points")) {
    const points = parts
      .get("points")
      .split("~")
      .filter(Boolean)
      .slice(0, 400)
      .map(text => {
        const [x, y, label] = text.split("_");
        return {x: Number(x), y: Number(y), label: Number.parseInt(label, 10), test: /t$/.test(label)};
      });
    const isFine = p => Number.isFinite(p.x) && Number.isFinite(p.y) && p.label >= 0 && p.label < classes;
    if (points.every(isFine)) state.points = points;
  }
  return state;
}
