// What one can send: the state of the page in its address.

import {readAddress, writeAddress} from "../shared/state.js";
import {numberFrom} from "../shared/numbers.js";
import {rateFrom} from "../shared/rate.js";
import {MISTAKES, defaultVictim} from "./mistakes.js";
import {MOST_OPENED, RATE, beginAgain, given, loaded, page, pick, take, usuallyOpen} from "./state.js";

// #step=7&v1=2.5&mistake=order
function addressAt(at) {
  const {model, own, open, mistake, rate, nudging, picked, delta} = page;
  const state = {};
  if (document.body.classList.contains("embedded")) state.embed = "";
  if (model !== own) state.example = "";
  state.step = at;
  const turned = [...model.numbers].filter(([i, x]) => !Object.is(x, model.initial.get(i)));
  for (const [i, x] of turned.slice(0, 60)) state[`v${i}`] = x;
  if (mistake) state.mistake = mistake;
  if (rate !== RATE) state.rate = rate;
  if (nudging) Object.assign(state, {nudge: delta, leaf: picked});
  const usual = usuallyOpen(model);
  if (open.size !== usual.size || [...open].some(j => !usual.has(j))) state.open = [...open].join(".");
  return state;
}
export const keepAddress = ({at}) => writeAddress(() => addressAt(at), 200);

// Brings the state to that in an address, before it is drawn; returns the step to show. What is not as it should be
// in the address is left out.
export function takeAddress(hash) {
  const state = readAddress(hash);
  const read = (key, ...range) => numberFrom(state.get(key), ...range);
  beginAgain();
  document.body.classList.toggle("embedded", state.has("embed"));
  if (state.has("example")) take(loaded(given.example));
  const {model} = page;
  const {levels, boxes, leaves} = model;
  for (const key of state.keys()) {
    const i = /^v(\d+)$/.test(key) ? +key.slice(1) : -1;
    const x = read(key);
    if (model.initial.has(i) && !model.fixed[i] && x !== undefined) model.numbers.set(i, x);
  }
  page.rate = rateFrom(state.get("rate")) ?? RATE;
  const opened = state.get("open")?.split(".").filter(Boolean).map(Number);
  if (opened) page.open = levels.complete(opened.filter(j => boxes[j]));
  if (levels.size(page.open) > MOST_OPENED) page.open = usuallyOpen(model);
  if (leaves.includes(read("leaf"))) pick(read("leaf"));
  if (state.has("nudge")) Object.assign(page, {nudging: true, delta: read("nudge") ?? page.delta});
  if (Object.hasOwn(MISTAKES, `${state.get("mistake")}.why`)) {
    page.mistake = state.get("mistake");
    page.victim = defaultVictim();
  }
  return read("step") ?? 0;
}
