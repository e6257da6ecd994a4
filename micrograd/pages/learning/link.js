// The state of training as names and texts for its address, #data=moons&rate=0.3. What is not as it should be
// in an address is left out. Pure.

import {readAddress} from "../shared/state.js";
import {numberFrom, unpacked} from "../shared/numbers.js";
import {formulaFrom} from "./typed.js";

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
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, letter => ({"+": "-", "/": "_"})[letter] ?? "");
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
export function asAddress({settings, sizes, activation, step, weights, points, isRegression, names, inputs, embed}) {
  const pointText = ({numbers, label, test}) => `${[...numbers, label].join("_")}${test ? "t" : ""}`;
  return {
    ...(embed && {embed: ""}),
    ...settings,
    ...(sizes && {net: sizes.slice(1, -1).join("-")}),
    ...(activation && {activation}),
    step,
    ...(weights && {weights: packed(weights)}),
    ...(points && {points: points.map(pointText).join("~")}),
    ...(points && isRegression && {regression: ""}),
    ...(names && {names: names.join("~")}),
    ...(points && inputs && {inputs: inputs.join("~")}),
  };
}

const listOf = (separator, read, isFine, most) => text => {
  const list = text.split(separator).filter(Boolean).slice(0, most).map(read);
  return list.every(isFine) ? list : undefined;
};

// The parts of the state that an address has, each checked by itself.
//   choices  the allowed texts of the settings `data`, `loss`, `optimizer`, and of `activation`
//   given    what there is to learn without it: {inputs, names, isRegression}
//   isFixed  whether the model keeps its inputs and outputs
export function fromAddress(hash, choices, given, isFixed) {
  const point = text => {
    const numbers = text.split("_"),
      label = numbers.pop() ?? "";
    return {numbers: numbers.map(x => numberFrom(x)), label: Number.parseInt(label, 10), test: /t$/.test(label)};
  };
  const isPoint = p => p.numbers.length > 0 && p.numbers.every(Number.isFinite) && p.label >= 0;
  const readers = {
    ...NUMBERS,
    ...Object.fromEntries(Object.entries(choices).map(([name, list]) => [name, oneOf(list)])),
    net: listOf("-", integer(1, 64), Boolean, 5),
    weights: weightsOf,
    points: listOf("~", point, isPoint, 400),
    names: text => (text.split("~").length < 2 ? undefined : text.split("~")),
    inputs: text => text.split("~"),
    regression: () => true,
    formula: text => [text].find(text => formulaFrom(text) && !(isFixed && formulaFrom(text)?.isRegression)),
  };
  /** @type {any} */
  const found = {};
  for (const [name, text] of readAddress(hash)) {
    const value = Object.hasOwn(readers, name) ? readers[name](text) : undefined;
    if (value !== undefined) found[name] = value;
  }
  const {net, step, activation, weights, points, inputs, regression, ...rest} = found,
    {names = given.names, ...settings} = rest,
    isRegression = !!regression,
    [first] = points ?? [];
  // Points that belong together, and that the model can learn from.
  const width = first?.numbers.length,
    isOwn = width - Number(isRegression) === given.inputs.length && names.length === given.names.length;
  const areFine =
    width > Number(isRegression) &&
    points.every(({numbers, label}) => numbers.length === width && label < names.length) &&
    (isFixed ? isOwn && isRegression === given.isRegression : names.length <= 8 || isOwn);
  return {hidden: net, step, activation, weights, settings, ...(areFine && {points, names, inputs, isRegression})};
}
