// What one can send: the state of the page in its address, and the picture as a file.

import {readAddress, writeAddress} from "../shared/address.js";
import {make} from "../shared/elements.js";
import {MISTAKES, defaultVictim} from "./mistakes.js";
import {MOST_OPENED, RATE, given, loaded, page, take, usuallyOpen} from "./state.js";

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

// Brings the state to that in the address, before it is drawn; returns the step to show.
export function takeAddress() {
  const state = readAddress();
  if (state.has("example")) take(loaded(given.example));
  const {model} = page;
  const {levels, boxes, leaves} = model;
  for (const [key, text] of state) {
    const i = /^v(\d+)$/.test(key) ? +key.slice(1) : -1;
    if (model.initial.has(i) && !model.fixed[i] && Number.isFinite(+text)) model.numbers.set(i, +text);
  }
  if (+state.get("rate") > 0) page.rate = +state.get("rate");
  const opened = state.get("open")?.split(".").filter(Boolean).map(Number);
  if (opened) page.open = levels.complete(opened.filter(j => boxes[j]));
  if (levels.size(page.open) > MOST_OPENED) page.open = usuallyOpen(model);
  if (state.has("leaf") && leaves.includes(+state.get("leaf"))) page.picked = +state.get("leaf");
  if (state.has("nudge")) Object.assign(page, {nudging: true, delta: +state.get("nudge") || 0});
  if (Object.hasOwn(MISTAKES, `${state.get("mistake")}.why`)) {
    page.mistake = state.get("mistake");
    page.victim = defaultVictim();
  }
  return +state.get("step") || 0;
}

export function savePicture() {
  const blob = new Blob([page.stage.file()], {type: "image/svg+xml"});
  const link = make("a", {download: "graph.svg", href: URL.createObjectURL(blob)});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}
