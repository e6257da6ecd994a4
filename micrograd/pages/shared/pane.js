// A pane onto a large drawing: panning (drag, wheel, two fingers), zooming, and a small map in a corner.
//
// `layout` is the size {width, height} of the drawing, and `cards` a Map from names to cards
// {box: {left, right, top, bottom}, kind}. A class that draws them extends this one.

import {make} from "./elements.js";
import {hull, overlap} from "./layout.js";
import {round} from "./numbers.js";

export const LEAST = 0.92; // the smallest zoom: letters of 12 pixels stay 11 pixels high
const LARGEST = 2.5;
export const PHONE = 500; // pixels: what is narrower than this
export const MARGIN = 14;

export class Pane {
  constructor(svg, map) {
    this.svg = svg;
    this.map = map;
    this.k = 1;
    this.x = 0;
    this.y = 0;
    this.cards = new Map();
    this.layout = this.picture = null;
    this.world = make("g");
    svg.replaceChildren(this.world);
    this.listen();
    if (map) this.listenToMap();
  }

  get size() {
    return {width: this.svg.clientWidth || 900, height: this.svg.clientHeight || 400};
  }

  // The room that the whole drawing needs at this zoom.
  needs(k = 1) {
    return {width: this.layout.width * k + 2 * MARGIN, height: this.layout.height * k + 2 * MARGIN};
  }

  // The part of the drawing that can be seen.
  seen({width, height} = this.size) {
    const [left, top] = [-this.x / this.k, -this.y / this.k];
    return {left, top, right: left + width / this.k, bottom: top + height / this.k};
  }

  // The whole drawing as the viewBox of its element, which then fits any width.
  whole() {
    const {width, height} = this.needs(this.k);
    return [this.x - MARGIN, this.y - MARGIN, width, height].map(round).join(" ");
  }

  fits({width, height} = this.size) {
    const needed = this.needs(this.k);
    return needed.width <= width + 1 && needed.height <= height + 1;
  }

  // The zoom for the whole drawing, where its letters can be read.
  fitting(most, {width, height}) {
    const whole = Math.min((width - 2 * MARGIN) / this.layout.width, (height - 2 * MARGIN) / this.layout.height);
    return Math.max(LEAST, Math.min(most, whole));
  }

  fit(most = 1.25) {
    this.k = this.fitting(most, this.size);
    this.moveTo(this.layout.width / 2, this.layout.height / 2);
  }

  zoom(factor, at = {x: this.size.width / 2, y: this.size.height / 2}) {
    const k = Math.max(Math.min(LEAST, this.k), Math.min(LARGEST, this.k * factor)),
      grown = k / this.k;
    this.x = at.x - (at.x - this.x) * grown;
    this.y = at.y - (at.y - this.y) * grown;
    this.k = k;
    this.place();
  }

  // Brings a point of the drawing to the middle.
  moveTo(x, y) {
    const {width, height} = this.size;
    this.x = width / 2 - x * this.k;
    this.y = height / 2 - y * this.k;
    this.place();
  }

  // Moves as little as needed so that these cards can be seen, the first ones above all.
  lookAt(names) {
    const boxes = names.map(name => this.cards.get(name)?.box).filter(Boolean);
    if (!boxes.length) return;
    const {width, height} = this.size,
      k = this.k;
    let pad = 14;
    const bring = (low, high, at, room) => {
      const [a, b] = [at + low * k - pad, at + high * k + pad];
      return b - a > room ? at : a < 0 ? at - a : b > room ? at - (b - room) : at;
    };
    for (const count of [boxes.length, boxes.length, 1]) {
      const {left, right, top, bottom} = hull(boxes.slice(0, count));
      this.x = bring(left, right, this.x, width);
      this.y = bring(top, bottom, this.y, height);
      pad = 2; // where there is little room
    }
    this.place();
  }

  // Keeps the drawing in sight: in the middle if it fits, else up to its edges.
  place() {
    const size = this.size, // read once, before anything is written: reading it again would be slow
      {width, height} = size;
    const keep = (at, needed, room) =>
      needed + 2 * MARGIN <= room ? (room - needed) / 2 : Math.max(room - needed - MARGIN, Math.min(MARGIN, at));
    this.x = keep(this.x, this.layout.width * this.k, width);
    this.y = keep(this.y, this.layout.height * this.k, height);
    this.world.setAttribute("transform", `translate(${round(this.x)} ${round(this.y)}) scale(${this.k})`);
    this.svg.classList.toggle("larger", !this.fits(size));
    this.showMap(size);
  }

  listen() {
    const {svg} = this,
      fingers = new Map();
    let moved = 0;
    const placeOf = event => {
      const {left, top} = svg.getBoundingClientRect();
      return {x: event.clientX - left, y: event.clientY - top};
    };
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return {distance: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2};
    };
    svg.addEventListener("pointerdown", event => {
      fingers.set(event.pointerId, placeOf(event));
      moved = 0;
    });
    svg.addEventListener("pointermove", event => {
      const before = fingers.get(event.pointerId);
      if (!before || !this.layout) return;
      const old = fingers.size === 2 ? spread() : null;
      const now = placeOf(event);
      fingers.set(event.pointerId, now);
      moved += Math.hypot(now.x - before.x, now.y - before.y);
      if (moved > 4 && !svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
      if (old) {
        const after = spread();
        this.x += after.x - old.x;
        this.y += after.y - old.y;
        this.zoom(after.distance / old.distance, after);
      } else if (fingers.size === 1) {
        this.x += now.x - before.x;
        this.y += now.y - before.y;
        this.place();
      }
    });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"])
      svg.addEventListener(name, event => fingers.delete(event.pointerId));
    const click = event => {
      if (moved > 4) event.stopPropagation();
      moved = 0;
    };
    svg.addEventListener("click", click, true);
    const wheel = event => {
      if (!this.layout) return;
      const before = [this.x, this.y, this.k];
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 300), placeOf(event));
      else {
        this.x -= event.shiftKey ? event.deltaY : event.deltaX;
        this.y -= event.shiftKey ? 0 : event.deltaY;
        this.place();
      }
      // at the end of the drawing the page scrolls on
      if (before.some((x, i) => Math.abs(x - [this.x, this.y, this.k][i]) > 0.5)) event.preventDefault();
    };
    svg.addEventListener("wheel", wheel, {passive: false});
  }

  // ---- The small map

  drawMap(size) {
    if (!this.map) return;
    const {width, height} = this.layout,
      scale = Math.min(150 / width, 90 / height) * (size.width < 600 ? 0.65 : 1);
    this.map.setAttribute("viewBox", `-8 -8 ${width + 16} ${height + 16}`);
    this.map.setAttribute("width", Math.max(24, width * scale));
    this.map.setAttribute("height", Math.max(16, height * scale));
    const small = ({box, width, height}) => make("rect", {x: box.left, y: box.top, width, height, rx: 8});
    this.map.replaceChildren(...[...this.cards.values()].map(small), make("rect", {class: "seen"}));
  }

  showMap({width, height}) {
    if (!this.map) return;
    const seen = this.map.querySelector(".seen"),
      fits = this.fits({width, height});
    this.map.toggleAttribute("hidden", fits);
    if (fits) return;
    const [x, y] = [-this.x / this.k, -this.y / this.k];
    const values = {x, y, width: width / this.k, height: height / this.k};
    for (const [key, value] of Object.entries(values)) seen?.setAttribute(key, value);
    // in the corner in which it covers least, above all of what matters now
    const [w, h] = ["width", "height"].map(side => (+this.map.getAttribute(side) + 10) / this.k);
    const covered = k => {
      const [right, bottom] = [k & 2, k & 1];
      const [left, top] = [right ? x + values.width - w : x, bottom ? y + values.height - h : y];
      const here = {left, top, right: left + w, bottom: top + h};
      const weight = name => (this.picture?.focus?.includes(name) ? 10 : 1);
      return [...this.cards].reduce((sum, [name, {box}]) => sum + weight(name) * overlap(here, box), 0);
    };
    const corner = [3, 1, 2, 0].reduce((best, k) => (covered(k) < covered(best) ? k : best));
    const [right, bottom] = [corner & 2, corner & 1];
    const inset = [!bottom, right, bottom, !right].map(isNear => (isNear ? "4px" : "auto"));
    this.map.style.inset = inset.join(" ");
  }

  listenToMap() {
    const go = event => {
      if (!event.buttons) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.map.getScreenCTM().inverse());
      this.moveTo(point.x, point.y);
    };
    this.map.addEventListener("pointerdown", go);
    this.map.addEventListener("pointermove", go);
  }
}
