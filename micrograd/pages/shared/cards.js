// The drawing of a graph: cards, arrows, labels on arrows, tokens that travel.
//
//   const stage = new Stage(svg, {map, isDown, onTurn, onPick, onUnfold});
//   stage.draw(view, describe);   lays out and draws what levels.js says is visible
//   stage.show(picture);          numbers and colours of one moment
//
// describe(item) is {kind, title, full, sign, about, fixed, isResult}. A picture is {backward, travel,
// focus: [names of items], cards: Map from name to {data, before, grad, now, given, later, fresh, badge,
// picked}, arrows: for each arrow {now, passed, later, label}}; the label of an arrow is
// {local, upstream, share}, three texts, or just {text}; or also {use, isFirst} if the operand is used
// more than once: which use this is, and whether it is the first.

import {make} from "./elements.js";
import {LEAD, LINES, curve, freePlace, hull, layered, overlap} from "./layout.js";
import {number, round, short} from "./numbers.js";
import {LEAST, MARGIN, PHONE, Pane} from "./pane.js";
import {filled} from "./texts.js";

// The width of cards, and the room for labels between two ranks: as much as there is. If the drawing would
// be too wide, the second; but not less room than labels need, if one has to pan anyway.
const SIZES = [
  {width: 148, leaf: 148, gaps: [150, 112, 86, 66, 86]},
  {width: 112, leaf: 112, gaps: [66, 48, 28, 48]},
];
// For a presenter: small, so that all is enlarged, with room for the chain rule in three lines; boxes with numbers.
const SLIDE = {width: 112, leaf: 112, gaps: [100, 66, 48, 28, 48]};
const BOXES = {width: 148, leaf: 112, gaps: [66, 48, 28, 48]};
// of a drawing downwards: four leaves, or four cards, in a row on a phone
const NARROW = [112, 86].map(width => ({width, leaf: 86}));
const ROWS = ["data", "grad", "back"];
const STRIP = 24;
const ROW = 18;
const LEAST_ROW = 15;
const LABEL = 33; // room for the words data and grad
const SCALE = 56; // room for the largest value of a strip
const DIGIT = 8.3;
const MOST_NUMBERS = 6; // values of a box that are shown as numbers
const NEAR = 4; // how far a frame is from its cards where others are near
export const TURNS = {ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10}; // keys of a knob

// As much of the text as there is room for, at so many pixels for a letter: the first words of a list; else a number
// or an index at its end is kept.
const fitted = (text, room, letter = 7.3) => {
  const letters = [...text];
  const most = Math.max(1, Math.floor(room / letter));
  if (letters.length <= most) return text;
  const comma = text.lastIndexOf(", ", most - 3);
  if (comma > 0) return `${text.slice(0, comma)}, …`;
  const [end] = /( \d{1,4}(–\d{1,4})?|[₀-₉,]+)$/.exec(text) ?? [""];
  return `${letters.slice(0, Math.max(1, most - 1 - end.length)).join("")}…${end}`;
};
// The room for lines of parts [class, text], at so many pixels for a letter.
const sizeOf = (lines, letter) => {
  const letters = lines.map(line => line.reduce((sum, [, part]) => sum + part.length, 0));
  return {width: Math.max(...letters) * letter + 14, height: lines.length * 17 + 6};
};
// The old number and the new one, side by side: condensed if they need more room than there is, and
// never one over the other; if that is not enough, the new one alone.
function beside(card) {
  const both = [card.word, card.data];
  for (const element of both) element.removeAttribute("textLength");
  const lengths = both.map(element => element.getComputedTextLength());
  const share = (card.width - +card.word.getAttribute("x") - 13) / (lengths[0] + lengths[1]);
  if (share < 0.65) card.word.textContent = "→";
  else if (share < 1) for (const [k, element] of both.entries()) element.setAttribute("textLength", lengths[k] * share);
}
// Sets the letters of a long text, of so many pixels each, closer to each other: a number is never cut off.
function condense(element, room, letter) {
  if (element.textContent.length * letter > room + 4) element.setAttribute("textLength", room);
  else element.removeAttribute("textLength");
}
const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const isLeaf = ({kind}) => kind === "input" || kind === "parameter";
// The size of a card.
function cardSize({kind, about = [], rows = 2}, width, row) {
  if (kind === "constant") return {width: 66, height: 30};
  if (kind === "box") return {width, height: 34 + 16 * about.length + rows * row};
  return {width, height: 14 + 3 * row};
}

const largestOf = values => Math.max(...values.map(x => (Number.isFinite(x) ? Math.abs(x) : 0)));
// The scale of a strip: the largest value, as the limit of those on one side of 0 or on both.
const limit = values =>
  (values.every(x => x >= 0) ? "≤ " : values.every(x => x <= 0) ? "≥ −" : "±") + short(rounded(largestOf(values)));
// Rounded up to the digits that `short` shows.
function rounded(x) {
  const unit = 10 ** (Math.floor(Math.log10(x)) - Number(x >= 1e-3 && x < 1e4));
  return x > 0 ? Math.ceil(+(x / unit).toPrecision(9)) * unit : 0;
}
// The same in words: "grad, at most ±0.02".
export const scaled = (row, values) => filled("{{values.most}}", {row, x: number(largestOf(values))});

// Up to six values as numbers, if there is room for them, and how long they are.
/** @returns {[string, number]} */
function fewOf(values, room) {
  if (!Array.isArray(values) || values.length > MOST_NUMBERS || !values.every(Number.isFinite)) return ["", 0];
  const text = values.map(x => (x < 0 ? "−" : "") + short(Math.abs(x))).join(", ");
  const length = 7.6 * text.length - 3.8 * text.replace(/[^,. ]/g, "").length;
  return 0.75 * length <= room ? [text, length] : ["", 0];
}

// Values as bars above and below a line, as the data of a path; of more than there is room for, the largest
// of some neighbours each.
function bars(all, room) {
  const count = Math.ceil(all.length / room);
  const larger = (x, y) => (Math.abs(y) > Math.abs(x) ? y : x);
  const values = all.flatMap((_, k) => (k % count ? [] : all.slice(k, k + count).reduce(larger)));
  const largest = largestOf(values) || 1;
  const width = Math.min(9, room / values.length);
  const bar = (x, k) => {
    const height = Number.isFinite(x) ? (x / largest) * 7 : 0;
    return `M${round(room - (values.length - k) * width)} 1v${-round(height + (height < 0 ? -1 : 1))}h${width * 0.8}V1z`;
  };
  return `M0 .5h${room}v1h-${room}z${values.map(bar).join("")}`; // on a line at 0
}

export class Stage extends Pane {
  /** @type {any[]} */ about = [];
  row = ROW;

  /** @param {any} svg @param {any} options */
  constructor(svg, {map = null, isDown = () => false, heights = () => [Infinity], ...callbacks}) {
    super(svg, map);
    this.isDown = isDown;
    this.heights = heights; // that it may have, the best first
    this.callbacks = callbacks;
    this.arrows = [];
    this.large = false; // as large as a presenter needs it
    this.layers = ["frames", "lines", "cards", "tokens", "labels"].map(name => make("g", {class: name}));
    this.world.append(...this.layers);
  }

  // ---- What is there

  draw(view, describe) {
    this.view = view;
    for (const layer of this.layers) layer.replaceChildren();
    this.cards.clear();
    this.down = this.isDown();
    const size = this.size; // read while the drawing is empty, which takes no time
    this.isPhone = size.width < PHONE;
    const items = [...view.items.values()],
      place = new Map(items.map((item, k) => [item.name, k]));
    this.about = items.map(describe);
    const arrows = view.arrows.map(arrow => ({...arrow, from: place.get(arrow.from), to: place.get(arrow.to)}));
    const [wide, ...heights] = [size.width, ...this.heights()].map(x => (x - 2 * MARGIN) / LEAST);
    let sizes;
    /** @type {(size: any, height: number, lines?: number) => boolean} */
    const lay = ({width, leaf, gaps}, height, lines = 0) => {
      this.row = lines ? LEAST_ROW : ROW;
      sizes = this.about.map(about => cardSize(about, isLeaf(about) ? leaf : width, this.row));
      this.layout = layered(sizes, arrows, {
        groups: items.map(({parent}) => parent),
        down: this.down,
        gaps: this.down ? [this.isPhone ? 34 : 60] : gaps,
        room: this.down ? [Infinity, wide] : [wide, height],
        beside: lines ? 10 : this.down ? 7 : 18,
        lines,
      });
      return this.layout.fits;
    };
    const least = this.down ? NARROW[1] : SIZES[1];
    const slide = this.about.some(({kind}) => kind === "box") ? [BOXES, SLIDE] : [SLIDE];
    const widths = [...(this.large ? slide : SIZES), ...(this.down ? NARROW : [])];
    if (!heights.some(height => widths.some(size => lay(size, height))))
      if (!LINES.some(lines => heights.some(height => lay(least, height, lines)))) lay(least, heights[0]);
    items.forEach((item, k) => {
      const card = this.drawCard(item, this.about[k], this.layout.centres[k], sizes[k]);
      this.cards.set(item.name, card);
      this.layers[2].append(card.group);
    });
    this.arrows = view.arrows.map((arrow, k) => this.drawArrow(arrow, this.layout.paths[k]));
    this.svg.classList.toggle("many", this.arrows.length > 50);
    this.layers[1].append(...this.arrows.map(({group}) => group));
    for (const {x, y, item} of this.layout.resumed)
      this.layers[1].append(make("text", {class: "word", x, y: y - 4}, fitted(this.about[item].title, LEAD - 6, 6.4)));
    this.drawFrames();
    this.drawMap(size);
  }

  drawCard(item, about, {x, y}, {width, height}) {
    const {kind, title, full, sign = "", fixed} = about;
    const [left, top] = [x - width / 2, y - height / 2];
    const leaf = isLeaf(about);
    const free = leaf && !fixed;
    const group = make("g", {
      class: `card ${kind}${free ? " free" : ""}${about.isLeaf ? " leaves" : ""}`,
      transform: `translate(${left} ${top})`,
    });
    group.addEventListener("focus", () => group.matches(":focus-visible") && this.lookAt([item.name]));
    const box = {left, top, right: left + width, bottom: top + height};
    const card = {item, kind, group, width, height, box, bars: {}, scale: {}};
    const add = (tag, attributes, ...contents) => {
      group.append(make(tag, attributes, ...contents));
      return group.lastChild;
    };
    const text = (className, x, y, content = "", anchor = "start") =>
      add("text", {class: className, x, y, "text-anchor": anchor, lengthAdjust: "spacingAndGlyphs"}, content);
    const rx = about.isInput ? 16 : ({input: 16, parameter: 2, constant: 15, box: 4}[kind] ?? 7);
    if (full && full !== title) add("title", {}, full);
    if (kind === "box") add("rect", {class: "behind", x: 4, y: -5, width: width - 8, height: 12, rx});
    add("rect", {class: "outline", width, height, rx});
    if (kind === "constant") {
      card.data = text("value", width / 2, 20, "", "middle");
      return card;
    }
    const isResult = kind === "result" || about.isResult;
    if (isResult) add("rect", {class: "inner", x: 3.5, y: 3.5, width: width - 7, height: height - 7, rx: 4});
    const inner = leaf || kind === "box" ? 10 : STRIP + 4;
    if (sign) {
      const d = `M7 1h${STRIP - 7}v${height - 2}H7a6 6 0 0 1-6-6V7a6 6 0 0 1 6-6z`;
      add("path", {class: "strip", d});
      const letters = [...sign].length;
      const mark = text("sign", STRIP / 2, height / 2 + 5, sign, "middle");
      const turned = `rotate(-90 ${STRIP / 2} ${height / 2}) translate(0 -1)`;
      if (letters > 2) mark.setAttribute("transform", turned);
      mark.classList.toggle("word", letters > 1);
    }
    let line = 19;
    const beside = free && !this.isPhone ? 52 : kind === "box" ? 18 : 6; // its buttons
    const room = width - inner - beside;
    const name = text("name", inner, line, fitted(title, room, 5.8)); // a long name is set closer
    if (name.textContent.length * (about.isAround ? 7 : 8) > room) name.setAttribute("textLength", room);
    for (const words of about.about ?? []) text("word", inner, (line += 16), fitted(words, width - 2 * inner, 6));
    if (kind === "box") {
      const unfold = () => this.callbacks.onUnfold?.(item.box);
      const button = make("rect", {width: 22, height: 20, rx: 5});
      const mark = make("path", {d: about.isAround ? "M6 10h10" : "M6 10h10M11 5v10"});
      add("g", {class: "unfold", transform: `translate(${width - 15} -4)`}, button, mark);
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "0");
      group.addEventListener("click", unfold);
      group.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        unfold();
      });
    }
    if (leaf || line === 19) line += 3; // room below the buttons
    const {rows = 2} = about;
    card.label = sign && width < 100 ? 0 : LABEL; // where a number would not fit beside its word, it is alone
    for (const key of ROWS.slice(0, rows)) {
      line += this.row;
      const label = text("word", inner, line, card.label ? (key === "back" ? "{{word.back}}" : key) : "");
      if (key === "data") card.word = label;
      card[key] = text(`value ${key}`, width - 7, line, "", "end");
      if (kind !== "box") continue;
      // a wide card has a strip and its scale; a narrow one the strip of its data, and the scale of its gradients
      const isWide = width > 140;
      const left = inner + LABEL + (isWide ? SCALE : 0);
      if (isWide || key !== "data")
        card.scale[key] = text(`word ${key}`, isWide ? left - 4 : width - 7, line, "", "end");
      if (isWide || key === "data")
        card.bars[key] = add("path", {class: `bars ${key}`, transform: `translate(${left} ${line - 5})`});
    }
    if (kind === "box" && rows) {
      card.values = add("rect", {class: "values", y: 34 + 16 * about.about.length, width, height: rows * this.row});
      card.values.addEventListener("click", event => {
        this.callbacks.onValues?.(item.box);
        event.stopPropagation();
      });
    }
    if (leaf) this.makeKnob(card, group, item, fixed);
    else if (kind !== "box") group.setAttribute("role", "img");
    return card;
  }

  // A leaf is a knob: − and +, up and down, Page Up and Page Down, Enter to type a number.
  makeKnob(card, group, item, fixed) {
    const turn = steps => this.callbacks.onTurn?.(item.node, steps);
    group.addEventListener("click", () => this.callbacks.onPick?.(item.node));
    group.setAttribute("tabindex", "0");
    if (fixed) return void group.setAttribute("role", "img");
    group.setAttribute("role", "slider");
    group.setAttribute("aria-keyshortcuts", "ArrowUp ArrowDown PageUp PageDown");
    const pointerdown = event => event.stopPropagation();
    const button = (left, d, steps) => {
      const click = event => {
        this.callbacks.onPick?.(item.node);
        turn(steps);
        event.stopPropagation();
      };
      const about = {class: "turn", transform: `translate(${card.width - left} 4)`, click, pointerdown};
      const mark = make("path", {d, transform: "translate(.5 0)"});
      return make("g", about, make("rect", {width: 21, height: 20, rx: 5}), mark);
    };
    // on a phone they would be too small for a finger; there one turns the chosen leaf below the graph
    if (!this.isPhone) group.append(button(50, "M5 10h10", -1), button(27, "M5 10h10M10 5v10", 1));
    group.addEventListener("keydown", event => {
      const steps = TURNS[event.key];
      if (!steps && event.key !== "Enter") return;
      event.preventDefault();
      if (steps) turn(steps);
      else this.callbacks.onType?.(item.node);
    });
  }

  drawArrow(arrow, points) {
    const path = make("path", {class: "line", d: curve(points, this.down)});
    const [a, b] = [points[0], points.at(-1)];
    const turned = this.down ? 90 : 0;
    const head = (kind, {x, y}, turn) => {
      const transform = `translate(${x} ${y}) rotate(${turn + turned})`;
      return make("path", {class: `head ${kind}`, d: "M0 0l-9-5v10z", transform});
    };
    return {...arrow, group: make("g", "arrow", path, head("ahead", b, 0), head("back", a, 180)), path, points};
  }

  // A frame around the cards of an unfolded box, where no other card is in the way.
  drawFrames() {
    const {levels} = this.view;
    for (const j of this.view.frames) {
      const inside = [...this.cards.values()].filter(({item}) => levels.around(item.parent).includes(j));
      if (inside.length < 2) continue;
      const around = hull(inside.map(card => card.box));
      const edge = MARGIN - 3; // there the picture ends
      const {width, height} = this.layout;
      const frame = pad => {
        const [left, top] = [around.left - pad, around.top - 1.5 * pad].map(x => Math.max(-edge, x));
        const right = Math.min(width + edge, around.right + pad);
        return {left, top, right, bottom: Math.min(height + edge, around.bottom + pad)};
      };
      const isFree = box => ![...this.cards.values()].some(card => !inside.includes(card) && overlap(card.box, box));
      const pads = [9 + 5 * (Math.max(...levels.depth) - levels.depth[j]), NEAR];
      const box = pads.map(frame).find(isFree);
      const {left: x, top: y, right, bottom} = box ?? around;
      if (box)
        this.layers[0].append(make("g", "frame", make("rect", {x, y, width: right - x, height: bottom - y, rx: 10})));
    }
  }

  // ---- One moment

  show(picture) {
    this.picture = picture;
    this.svg.classList.toggle("backward", picture.backward);
    for (const [name, card] of this.cards) {
      const state = picture.cards.get(name) ?? {};
      const put = key => {
        const element = card[key];
        if (!element) return;
        const value = state[key] ?? "·";
        const left = {constant: 0, operation: STRIP + 4, result: STRIP + 4}[card.kind] ?? 10;
        const free = card.width - left - (card.kind === "constant" ? 8 : card.label + 7);
        const [few, length] = fewOf(value, free);
        const text = typeof value === "string" ? value : few;
        const isStrip = Array.isArray(value) && !few;
        const scale = card.scale[key];
        const room = card.width - 17 - LABEL - (scale ? SCALE : 0);
        card.bars[key]?.setAttribute("d", isStrip ? bars(value, room) : "");
        if (scale) {
          scale.textContent = isStrip ? limit(value) : "";
          condense(scale, card.bars[key] ? SCALE - 4 : card.width - 17 - LABEL, 7.2);
        }
        if (element.textContent !== text) element.textContent = text;
        element.classList.toggle("few", Boolean(few));
        condense(element, few ? free - 6 : free, few ? length / few.length : DIGIT);
        element.classList.toggle("fresh", state.fresh === key);
      };
      if (card.word) card.word.textContent = state.before ? `${state.before}\u2009→` : card.label ? "data" : "";
      card.word?.removeAttribute("textLength");
      for (const key of ROWS) put(key);
      const strips = ROWS.filter(key => Array.isArray(state[key]));
      const tip = strips.map(key => scaled(key === "back" ? "{{word.back}}" : key, state[key]));
      card.values?.replaceChildren(make("title", {}, tip.join("; ")));
      if (card.word && state.before) beside(card);
      for (const key of ["now", "given", "later", "picked", "wrong"])
        card.group.classList.toggle(key, Boolean(state[key]));
      card.group.setAttribute("aria-label", state.spoken ?? "");
      if (card.group.getAttribute("role") === "slider") {
        card.group.setAttribute("aria-valuenow", state.number ?? 0);
        card.group.setAttribute("aria-valuetext", state.data ?? "");
      }
    }
    this.layers[4].replaceChildren();
    this.layers[3].replaceChildren();
    if (picture.focus?.length) this.lookAt(picture.focus);
    // labels of the arrows of this moment are where they cover neither cards nor each other
    const taken = [...this.cards.values()].map(card => card.box);
    this.arrows.forEach((arrow, k) => {
      const state = picture.arrows[k] ?? {};
      for (const key of ["now", "passed", "later", "still"]) arrow.group.classList.toggle(key, Boolean(state[key]));
      if (state.label) this.label(arrow, state.label, taken);
    });
    for (const [name, card] of this.cards) {
      const {badge} = picture.cards.get(name) ?? {};
      if (badge) this.badge(card, badge, taken);
    }
    if (picture.travel && !reduced()) this.travel(picture);
  }

  label(arrow, {local, upstream, share, text, use, isFirst}, taken) {
    const plain = said => ["plain", said];
    const factors = [["local", local], plain(" × "), ["gradient", upstream]];
    const sum = [plain("= "), ["share", share]];
    const high = [factors.slice(0, 1), factors.slice(1), sum];
    const wide = [[...factors, plain(" "), ...sum]];
    const both = [factors, sum];
    const shapes = this.down ? [wide, both, high] : this.layout.between < 100 ? [high, both, wide] : [both, high, wide];
    const forms = text ? [[[plain(text)]]] : [...shapes, [sum.slice(1)]]; // the last where there is no room for more
    const length = arrow.path.getTotalLength();
    const along = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map(t => arrow.path.getPointAtLength(t * length));
    // beside the arrow if it would cover most of it, or if there are two between the same cards
    const [operand, giver] = [arrow.points[0], arrow.points[arrow.points.length - 1]];
    const found = forms.map(form => {
      const lines = use ? [[["word", `${use} `], ...form[0]], ...form.slice(1)] : form;
      const size = sizeOf(lines, 7.6);
      const isShort = !this.down && length < 2.6 * size.width;
      const lean = use ? (isFirst ? -0.62 : 0.62) : isShort ? (operand.y > giver.y ? 0.8 : -0.8) : 0;
      return {lines, size, place: freePlace(along, size, taken, this.seen(), lean)};
    });
    const free = found.find(({place}) => place.covered < 1);
    if (free) this.plate(free.size, free.place, free.lines, taken, "label");
  }

  plate(size, {x, left, top, right, bottom}, lines, taken, className) {
    taken.push({left, top, right, bottom});
    const group = make("g", className, make("rect", {class: "plate", x: left, y: top, ...size, rx: 6}));
    this.layers[4].append(group);
    lines.forEach((line, row) => {
      const baseline = top + 16 + 17 * row;
      const parts = line.map(([name, part]) => make("tspan", name, part));
      group.append(make("text", {x, y: baseline, "text-anchor": "middle"}, ...parts));
      const share = parts[line.findIndex(([name]) => name === "share")];
      if (!share) return;
      const [{x: from}, width] = [share.getStartPositionOfChar(0), share.getComputedTextLength()];
      const pill = {x: from - 4, y: baseline - 13, width: width + 8, height: 17, rx: 8};
      group.lastChild.before(make("rect", {class: "pill", ...pill}));
    });
  }

  // A note of a few lines beside a card: [[class, text], ...] for each line.
  badge(card, lines, taken) {
    const size = sizeOf(lines, 7.2);
    const {left, right, top, bottom} = card.box;
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const beside = [right + size.width / 2 + 4, left - size.width / 2 - 4].map(x => ({x, y}));
    const below = [bottom + size.height / 2 + 4, top - size.height / 2 - 4].map(y => ({x, y}));
    const places = this.down ? [...beside, ...below] : [...below, ...beside];
    const place = freePlace(places, size, taken, this.seen());
    if (place.covered < 1) this.plate(size, place, lines, taken, "badge");
  }

  // A token goes along each arrow of this moment, backwards from the giver to the operand.
  travel({backward, arrows, duration = 700}) {
    for (const [k, {path}] of this.arrows.entries()) {
      if (!arrows[k]?.now) continue;
      const token = make("circle", {class: "token", r: 7});
      token.style.offsetPath = `path("${path.getAttribute("d")}")`;
      this.layers[3].append(token);
      const ways = ["0%", "100%"];
      const offsetDistance = backward ? ways.reverse() : ways;
      token.animate({offsetDistance}, {duration, easing: "ease-in-out"}).onfinish = () => token.remove();
    }
  }
}
