// The state of training as names and texts for its address, #data=moons&rate=0.3. What is not as it should be
// in an address is left out. Pure.

import {readAddress} from "../shared/state.js";
import {numberFrom, unpacked} from "../shared/numbers.js";

const inRange = (low, high) => text => numberFrom(text, low, high);
const integer = (low, high) => text => (Number.isInteger(Number(text)) ? numberFrom(text, low, high) : undefined);
const oneOf = list => text => (list.includes(text) ? text : undefined);
const NUMBERS = {
  size: integer(2, 400),
  noise: inRange(0, 1),
  share: inRange(0, 0.9),
  sample: integer(0, 1e9),
  seed: integer(0, 1e9),
  rate: inRange(0, 1000),
  decay: inRange(0, 1000),
  batch: integer(1, 1e9),
  step: integer(0, 1e12),
};

// Numbers as text without loss: their bytes in base64, with the letters that addresses allow.
function packed(numbers) {
  const bytes = new Uint8Array(Float64Array.from(numbers).buffer);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
function weightsOf(text) {
  try {
    const numbers = [...unpacked(text.replaceAll("-", "+").replaceAll("_", "/"), Float64Array)];
    return numbers.every(Number.isFinite) ? numbers : undefined;
  } catch {
    return undefined;
  }
}

/** The state in an address; a part that is false or missing is left out. @param {any} state */
export function asAddress({settings, sizes, activation, step, weights, points, names}) {
  const pointText = ({x, y, label, test}) => `${x}_${y}_${label}${test ? "t" : ""}`;
  return {
    ...settings,
    ...(sizes && {net: sizes.slice(1, -1).join("-")}),
    ...(activation && {activation}),
    step,
    ...(weights && {weights: packed(weights)}),
    ...(points && {points: points.map(pointText).join("~")}),
    ...(names && {names: names.join("~")}),
  };
}

const listOf = (separator, read, isFine, most) => text => {
  const list = text.split(separator).filter(Boolean).slice(0, most).map(read);
  return list.every(isFine) ? list : undefined;
};

// The parts of the state that an address has, each checked by itself.
//   choices  the allowed texts of the settings `data`, `loss`, `optimizer`, and of `activation`
//   classes  number of classes
export function fromAddress(hash, choices, classes) {
  const point = text => {
    const [x, y, label] = text.split("_");
    return {x: numberFrom(x), y: numberFrom(y), label: Number.parseInt(label, 10), test: /t$/.test(label)};
  };
  const isPoint = p => Number.isFinite(p.x) && Number.isFinite(p.y) && p.label >= 0 && p.label < classes;
  const readers = {
    ...NUMBERS,
    ...Object.fromEntries(Object.entries(choices).map(([name, list]) => [name, oneOf(list)])),
    net: listOf("-", integer(1, 8), Boolean, 5),
    weights: weightsOf,
    points: listOf("~", point, isPoint, 400),
    names: text => (text.split("~").length === classes ? text.split("~") : undefined),
  };
  /** @type {any} */
  const found = {};
  for (const [name, text] of readAddress(hash)) {
    const value = Object.hasOwn(readers, name) ? readers[name](text) : undefined;
    if (value !== undefined) found[name] = value;
  }
  const {net, step, activation, weights, points, names, ...settings} = found;
  return {hidden: net, step, activation, weights, points, names, settings};
}
