// Points by hand: a pointer on the plane adds, moves and chooses points.

import {$} from "../shared/elements.js";
import {geometry} from "./pictures.js";
import {asKept} from "./samples.js";
import {addPoint, ask, choose, deletePoint, experiment, showAgain, withPoint} from "./state.js";

function movePoint(point, x, y) {
  Object.assign(experiment, {examples: withPoint(point, {numbers: [x, y]}), byHand: true});
  experiment.note();
  ask();
}

const boundary = $("boundary");
let held = null; // {left, top, point, isMoving} while a button or finger is down
const place = event => {
  const area = boundary.getBoundingClientRect();
  return [event.clientX - area.left, event.clientY - area.top];
};
const nearest = (left, top, reach) => {
  const {across, up} = geometry();
  const distances = experiment.examples.map(({numbers: [x, y]}) => Math.hypot(across(x) - left, up(y) - top));
  return distances.indexOf(Math.min(...distances.filter(distance => distance < reach)));
};

boundary.addEventListener("pointerdown", event => {
  if (event.button || !geometry()) return;
  const [left, top] = place(event),
    reach = event.pointerType === "touch" ? 18 : geometry().size + 4;
  held = {left, top, point: nearest(left, top, reach), isMoving: false};
});
// A finger on a point drags it; elsewhere it scrolls the page.
boundary.addEventListener("touchmove", event => held?.point >= 0 && event.preventDefault(), {passive: false});
boundary.addEventListener("pointermove", event => {
  if (!geometry()) return;
  const [left, top] = place(event);
  if (!held) {
    boundary.style.cursor = nearest(left, top, geometry().size + 4) >= 0 ? "grab" : "crosshair";
    return;
  }
  if (held.point < 0 || (!held.isMoving && Math.hypot(left - held.left, top - held.top) < 5)) return;
  if (!held.isMoving) {
    held.isMoving = true;
    boundary.setPointerCapture(event.pointerId);
    experiment.past.remember();
  }
  movePoint(held.point, ...geometry().at(left, top).map(asKept));
});
boundary.addEventListener("pointercancel", () => (held = null));
boundary.addEventListener("pointerup", event => {
  if (!held) return;
  const {point, isMoving} = held,
    [left, top] = place(event);
  const hasMoved = Math.hypot(left - held.left, top - held.top) >= 8;
  held = null;
  if (isMoving) showAgain();
  else if (point >= 0) choose({kind: "point", point});
  else if (!hasMoved && geometry().isInside(left, top)) addPoint(...geometry().at(left, top).map(asKept));
});
boundary.addEventListener("keydown", ({key}) => key === "Delete" && deletePoint());
