// The drawing of a graph: cards, arrows, labels on arrows, tokens that travel, panning and zooming.
//
//   const stage = new Stage(svg, {map, down, onTurn, onPick, onUnfold, onFold});
//   stage.draw(view, describe);   lays out and draws what levels.js says is visible
//   stage.show(picture);          numbers and colours of one moment
//
// describe(item) is {kind, title, full, sign, about, fixed, control}. A picture is {backward, travel,
// focus: [names of items], cards: Map from name to {data, grad, now, given, later, fresh, badge, picked,
// hidden}, arrows: for each arrow {now, passed, later, label, strong}}; the label of an arrow is
// {local, upstream, share}, three texts, or just {text}.

const LEAST = 0.92; // the smallest zoom: letters of 12 pixels stay 11 pixels high
const LARGEST = 2.5,
  MARGIN = 14;
const WIDTH = 140,
  STRIP = 24,
  ROW = 18,
  DIGIT = 8.3;

const svgElement = (name, attributes = {}, text = "") => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
};
// As much of the text as there is room for, at so many pixels for a letter.
const fitted = (text, room, letter = 7.3) => {
  const letters = [...text],
    most = Math.max(1, Math.floor(room / letter));
  return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
};
const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// The size of a card.
function cardSize({kind, about = [], data = true}) {
  if (kind === "constant") return {width: 66, height: 30};
  if (kind === "box") return {width: 150, height: 34 + 16 * about.length + (data ? 2 * ROW : 0)};
  return {width: WIDTH, height: 14 + 3 * ROW};
}

class Stage {
  constructor(svg, {map = null, down = false, ...callbacks} = {}) {
    Object.assign(this, {svg, map, down, callbacks, k: 1, x: 0, y: 0, cards: new Map(), arrows: []});
    svg.replaceChildren();
    this.world = svgElement("g");
    this.layers = ["frames", "lines", "cards", "tokens", "labels"].map(name =>
      svgElement("g", {class: name}),
    );
    this.world.append(...this.layers);
    svg.append(this.world);
    this.listen();
    if (map) this.listenToMap();
  }

  // ---- What is there

  draw(view, describe) {
    this.view = view;
    const items = [...view.items.values()],
      place = new Map(items.map((item, k) => [item.name, k]));
    this.about = items.map(describe);
    const sizes = this.about.map(cardSize);
    const arrows = view.arrows.map(arrow => ({
      ...arrow,
      from: place.get(arrow.from),
      to: place.get(arrow.to),
    }));
    const room = (this.svg.clientWidth || 900) - 2 * MARGIN;
    // as much room for labels between the ranks as there is; but not less than needed, if one has to
    // pan anyway
    for (const between of this.down ? [72] : this.large ? [66] : [150, 112, 86, 66, 86]) {
      this.layout = layered(sizes, arrows, {down: this.down, between, beside: this.down ? 22 : 18});
      this.between = between;
      if (this.layout.width * LEAST <= room) break;
    }
    for (const layer of this.layers) layer.replaceChildren();
    this.cards.clear();
    items.forEach((item, k) => {
      const card = this.drawCard(item, this.about[k], this.layout.centres[k], sizes[k]);
      this.cards.set(item.name, card);
      this.layers[2].append(card.group);
    });
    this.arrows = view.arrows.map((arrow, k) => this.drawArrow(arrow, this.layout.paths[k]));
    this.svg.classList.toggle("many", this.arrows.length > 50);
    this.layers[1].append(...this.arrows.map(({group}) => group));
    this.drawFrames();
    this.drawMap();
  }

  drawCard(item, about, {x, y}, {width, height}) {
    const {kind, title, full, sign = "", fixed} = about;
    const left = x - width / 2,
      top = y - height / 2,
      leaf = ["input", "parameter"].includes(kind);
    const group = svgElement("g", {
      class: `card ${kind}${leaf && !fixed ? " free" : ""}`,
      transform: `translate(${left} ${top})`,
    });
    const corner = {input: 16, parameter: 2, constant: 15, box: 4}[kind] ?? 7;
    const card = {
      item,
      kind,
      group,
      width,
      height,
      box: {left, top, right: left + width, bottom: top + height},
    };
    const text = (className, x, y, content = "", anchor = "start") => {
      const element = svgElement("text", {class: className, x, y, "text-anchor": anchor}, content);
      group.append(element);
      return element;
    };
    if (full && full !== title) group.append(svgElement("title", {}, full));
    if (kind === "box")
      group.append(
        svgElement("rect", {class: "behind", x: 4, y: -5, width: width - 8, height: 12, rx: corner}),
      );
    group.append(svgElement("rect", {class: "outline", width, height, rx: corner}));
    if (kind === "constant") {
      card.data = text("value", width / 2, 20, "", "middle");
      return card;
    }
    let inner = leaf || kind === "box" ? 10 : STRIP + 6;
    if (sign) {
      group.append(
        svgElement("path", {
          class: "strip",
          d: `M7 1h${STRIP - 7}v${height - 2}H7a6 6 0 0 1-6-6V7a6 6 0 0 1 6-6z`,
        }),
      );
      const turned = [...sign].length > 3;
      const mark = text("sign", STRIP / 2, height / 2 + 5, sign, "middle");
      if (turned) mark.setAttribute("transform", `rotate(-90 ${STRIP / 2} ${height / 2}) translate(0 -1)`);
      if (turned || [...sign].length > 1) mark.classList.add("word");
    }
    let line = 19;
    text(
      "name",
      inner,
      line,
      fitted(title, width - inner - (leaf && !fixed ? 52 : kind === "box" ? 34 : 6), 8.4),
    );
    for (const words of about.about ?? [])
      text("word", inner, (line += 16), fitted(words, width - 2 * inner, 6.4));
    if (kind === "box") {
      const unfold = svgElement("g", {class: "unfold", transform: `translate(${width - 28} 6)`});
      unfold.append(
        svgElement("rect", {width: 22, height: 20, rx: 5}),
        svgElement("path", {d: "M6 10h10M11 5v10"}),
      );
      group.append(unfold);
      group.addEventListener("click", () => this.callbacks.onUnfold?.(item.box));
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "0");
      group.addEventListener("keydown", event => {
        if (["Enter", " "].includes(event.key)) {
          event.preventDefault();
          this.callbacks.onUnfold?.(item.box);
        }
      });
    }
    if (leaf) line += 3; // room below the buttons
    if (about.data !== false) {
      text("word", inner, (line += ROW), "data");
      card.data = text("value data", width - 9, line, "", "end");
      text("word", inner, (line += ROW), "grad");
      card.grad = text("value grad", width - 9, line, "", "end");
    }
    if (leaf) this.makeKnob(card, group, item, fixed);
    if (!leaf && kind !== "box") group.setAttribute("role", "img");
    group.addEventListener("pointerenter", () => this.callbacks.onPoint?.(item));
    group.addEventListener("pointerleave", () => this.callbacks.onPoint?.(null));
    return card;
  }

  // A leaf is a knob: − and +, up and down, Page Up and Page Down, or a drag along its number.
  makeKnob(card, group, item, fixed) {
    const turn = steps => this.callbacks.onTurn?.(item.node, steps);
    group.addEventListener("click", () => this.callbacks.onPick?.(item.node));
    group.setAttribute("tabindex", "0");
    if (fixed) return void group.setAttribute("role", "img");
    group.setAttribute("role", "slider");
    group.setAttribute("aria-keyshortcuts", "ArrowUp ArrowDown PageUp PageDown");
    for (const [x, sign, steps] of [
      [card.width - 50, "M5 10h10", -1],
      [card.width - 27, "M5 10h10M10 5v10", 1],
    ]) {
      const button = svgElement("g", {class: "turn", transform: `translate(${x} 4)`});
      button.append(
        svgElement("rect", {width: 21, height: 20, rx: 5}),
        svgElement("path", {d: sign, transform: "translate(.5 0)"}),
      );
      button.addEventListener("pointerdown", event => event.stopPropagation());
      button.addEventListener("click", event => {
        this.callbacks.onPick?.(item.node);
        turn(steps);
        event.stopPropagation();
      });
      group.append(button);
    }
    const grip = svgElement("rect", {
      class: "grip",
      x: 4,
      y: 27,
      width: card.width - 8,
      height: ROW,
      rx: 4,
    });
    group.append(grip);
    grip.append(
      svgElement(
        "title",
        {},
        "Drag to the left or right, or press ↑ and ↓, Page Up and Page Down; Enter to type a number",
      ),
    );
    let from = null;
    grip.addEventListener("pointerdown", event => {
      from = event.clientX;
      grip.setPointerCapture(event.pointerId);
      event.stopPropagation();
    });
    grip.addEventListener("pointermove", event => {
      if (from === null) return;
      const steps = Math.trunc((event.clientX - from) / 6);
      if (steps) {
        turn(steps);
        from += 6 * steps;
      }
    });
    grip.addEventListener("pointerup", () => {
      from = null;
    });
    group.addEventListener("keydown", event => {
      const steps = {ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
      if (steps) {
        event.preventDefault();
        turn(steps);
      }
      if (event.key === "Enter") {
        event.preventDefault();
        this.callbacks.onType?.(item.node);
      }
    });
  }

  drawArrow(arrow, points) {
    const group = svgElement("g", {class: "arrow"});
    const path = svgElement("path", {class: "line", d: curve(points, this.down)});
    const [a, b] = [points[0], points[points.length - 1]];
    const head = ({x, y}, back) => {
      const s = back ? -1 : 1;
      return this.down
        ? `${x - 5},${y - 9 * s} ${x + 5},${y - 9 * s} ${x},${y}`
        : `${x - 9 * s},${y - 5} ${x - 9 * s},${y + 5} ${x},${y}`;
    };
    group.append(
      path,
      svgElement("polygon", {class: "head ahead", points: head(b, false)}),
      svgElement("polygon", {class: "head back", points: head(a, true)}),
    );
    return {...arrow, group, path, points};
  }

  // A frame around the cards of an unfolded box, where no other card is in the way.
  drawFrames() {
    const levels = this.view.levels;
    if (!levels) return;
    for (const j of this.view.frames) {
      const inside = [...this.cards.values()].filter(({item}) => {
        const box = item.box ?? levels.boxOf[item.node];
        return levels.around(box).includes(j) && item.box !== j;
      });
      if (inside.length < 2) continue;
      const pad = 9 + 5 * (Math.max(...levels.depth) - levels.depth[j]);
      const left = Math.min(...inside.map(card => card.box.left)) - pad;
      const top = Math.min(...inside.map(card => card.box.top)) - pad - 8;
      const right = Math.max(...inside.map(card => card.box.right)) + pad;
      const bottom = Math.max(...inside.map(card => card.box.bottom)) + pad;
      const area = {left, top, right, bottom};
      if ([...this.cards.values()].some(card => !inside.includes(card) && overlap(card.box, area)))
        continue;
      const group = svgElement("g", {class: "frame"});
      group.append(
        svgElement("rect", {x: left, y: top, width: right - left, height: bottom - top, rx: 10}),
      );
      this.layers[0].append(group);
    }
  }

  // ---- One moment

  show(picture) {
    this.picture = picture;
    this.svg.classList.toggle("backward", picture.backward);
    for (const [name, card] of this.cards) {
      const state = picture.cards.get(name) ?? {};
      const put = (element, text, fresh) => {
        if (!element) return;
        if (element.textContent !== text) element.textContent = text;
        // a long number is set closer, never cut off
        const room = card.width - (card.kind === "operation" || card.kind === "result" ? STRIP + 46 : 52);
        if (text.length * DIGIT > room) element.setAttribute("textLength", room);
        else element.removeAttribute("textLength");
        element.classList.toggle("fresh", Boolean(fresh));
      };
      put(card.data, state.data ?? "·", state.fresh === "data");
      put(card.grad, state.grad ?? "·", state.fresh === "grad");
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
    this.arrows.forEach((arrow, k) => {
      const state = picture.arrows[k] ?? {};
      for (const key of ["now", "passed", "later", "strong"])
        arrow.group.classList.toggle(key, Boolean(state[key]));
    });
    // labels of the arrows of this moment, where they cover neither cards nor each other
    const taken = [...this.cards.values()].map(card => card.box);
    this.arrows.forEach((arrow, k) => {
      const {label} = picture.arrows[k] ?? {};
      if (label) this.label(arrow, label, taken);
    });
    for (const [name, card] of this.cards) {
      const {badge} = picture.cards.get(name) ?? {};
      if (badge) this.badge(card, badge, taken);
    }
    if (picture.travel && !reduced()) this.travel(picture);
    if (picture.focus?.length) this.lookAt(picture.focus);
  }

  label(arrow, {local, upstream, share, text, use}, taken) {
    const lines = text
      ? [[["plain", text]]]
      : this.between < 100 && !this.down
        ? [
            [["local", local]],
            [
              ["plain", "× "],
              ["gradient", upstream],
            ],
            [
              ["plain", "= "],
              ["share", share],
            ],
          ]
        : [
            [
              ["local", local],
              ["plain", " × "],
              ["gradient", upstream],
            ],
            [
              ["plain", "= "],
              ["share", share],
            ],
          ];
    if (use) lines.unshift([["word", use]]);
    const letters = Math.max(...lines.map(line => line.reduce((sum, [, part]) => sum + part.length, 0)));
    const size = {width: letters * 7.6 + 14, height: lines.length * 17 + 6};
    const length = arrow.path.getTotalLength();
    const along = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map(t => arrow.path.getPointAtLength(t * length));
    const lean = use ? (use[0] === "1" ? -0.75 : 0.75) : 0; // two arrows between the same cards
    this.plate(size, freePlace(along, size, taken, lean), lines, taken, "label");
  }

  plate(size, {x, y, left, top, right, bottom}, lines, taken, className) {
    taken.push({left, top, right, bottom});
    const group = svgElement("g", {class: className});
    group.append(
      svgElement("rect", {class: "plate", x: left, y: top, width: size.width, height: size.height, rx: 6}),
    );
    lines.forEach((line, row) => {
      const baseline = top + 16 + 17 * row;
      const text = svgElement("text", {x, y: baseline, "text-anchor": "middle"});
      for (const [className, part] of line) text.append(svgElement("tspan", {class: className}, part));
      const share = line.find(([name]) => name === "share");
      if (share) {
        const width = share[1].length * 7.6 + 10;
        group.append(
          svgElement("rect", {
            class: "pill",
            x: x + 8 - width / 2,
            y: baseline - 13,
            width,
            height: 17,
            rx: 8,
          }),
        );
      }
      group.append(text);
    });
    this.layers[4].append(group);
  }

  // A note of a few lines beside a card: [[class, text], ...] for each line.
  badge(card, lines, taken) {
    const letters = Math.max(...lines.map(line => line.reduce((sum, [, part]) => sum + part.length, 0)));
    const size = {width: letters * 7.2 + 14, height: lines.length * 17 + 6};
    const {left, right, top, bottom} = card.box,
      x = (left + right) / 2;
    const places = [
      {x, y: bottom + size.height / 2 + 4},
      {x, y: top - size.height / 2 - 4},
    ];
    this.plate(
      size,
      freePlace(
        places,
        size,
        taken.filter(other => other !== card.box),
      ),
      lines,
      taken,
      "badge",
    );
  }

  // A token goes along each arrow of this moment, backwards from the giver to the operand.
  travel({backward, arrows, duration = 700}) {
    const run = (this.run = {});
    const tokens = this.arrows
      .filter((_, k) => arrows[k]?.now)
      .map(({path}) => {
        const token = svgElement("circle", {class: "token", r: 7});
        this.layers[3].append(token);
        return {token, path, length: path.getTotalLength()};
      });
    const begun = performance.now();
    const move = now => {
      if (this.run !== run) return;
      const t = Math.min(1, Math.max(0, (now - begun) / duration)),
        eased = t * t * (3 - 2 * t);
      for (const {token, path, length} of tokens) {
        const {x, y} = path.getPointAtLength(length * (backward ? 1 - eased : eased));
        token.setAttribute("cx", x);
        token.setAttribute("cy", y);
        if (t === 1) token.remove();
      }
      if (t < 1) requestAnimationFrame(move);
    };
    move(begun);
  }

  // ---- Where one looks

  get size() {
    return {width: this.svg.clientWidth || 900, height: this.svg.clientHeight || 400};
  }

  // The room that the whole drawing needs at this zoom.
  needs(k = 1) {
    return {width: this.layout.width * k + 2 * MARGIN, height: this.layout.height * k + 2 * MARGIN};
  }

  fits() {
    const {width, height} = this.size,
      needed = this.needs(this.k);
    return needed.width <= width + 1 && needed.height <= height + 1;
  }

  // The whole drawing, where its letters can be read; else as much of it as there is room for.
  fit(most = 1.25) {
    const {width, height} = this.size;
    const k = Math.min(
      (width - 2 * MARGIN) / this.layout.width,
      (height - 2 * MARGIN) / this.layout.height,
    );
    this.k = Math.max(LEAST, Math.min(most, k));
    this.moveTo(this.layout.width / 2, this.layout.height / 2);
  }

  zoom(factor, at = {x: this.size.width / 2, y: this.size.height / 2}) {
    const k = Math.max(LEAST, Math.min(LARGEST, this.k * factor)),
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
      k = this.k,
      pad = 14;
    const bring = (low, high, at, room) => {
      const [a, b] = [at + low * k - pad, at + high * k + pad];
      return b - a > room ? at : a < 0 ? at - a : b > room ? at - (b - room) : at;
    };
    const span = count => {
      const some = boxes.slice(0, count);
      return [
        Math.min(...some.map(box => box.left)),
        Math.max(...some.map(box => box.right)),
        Math.min(...some.map(box => box.top)),
        Math.max(...some.map(box => box.bottom)),
      ];
    };
    for (const count of [boxes.length, 1]) {
      const [left, right, top, bottom] = span(count);
      this.x = bring(left, right, this.x, width);
      this.y = bring(top, bottom, this.y, height);
    }
    this.place();
  }

  // Keeps the drawing in sight: in the middle if it fits, else up to its edges.
  place() {
    const {width, height} = this.size;
    const keep = (at, needed, room) =>
      needed + 2 * MARGIN <= room
        ? (room - needed) / 2
        : Math.max(room - needed - MARGIN, Math.min(MARGIN, at));
    this.x = keep(this.x, this.layout.width * this.k, width);
    this.y = keep(this.y, this.layout.height * this.k, height);
    this.world.setAttribute("transform", `translate(${round(this.x)} ${round(this.y)}) scale(${this.k})`);
    this.svg.classList.toggle("larger", !this.fits());
    this.showMap();
  }

  listen() {
    const {svg} = this,
      fingers = new Map();
    let moved = 0;
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return {distance: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2};
    };
    svg.addEventListener("pointerdown", event => {
      fingers.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
      moved = 0;
    });
    svg.addEventListener("pointermove", event => {
      const before = fingers.get(event.pointerId);
      if (!before || !this.layout) return;
      const old = fingers.size === 2 ? spread() : null;
      const frame = svg.getBoundingClientRect();
      const now = {x: event.clientX - frame.left, y: event.clientY - frame.top};
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
    svg.addEventListener(
      "click",
      event => {
        if (moved > 4) {
          event.stopPropagation();
          moved = 0;
        }
      },
      true,
    );
    svg.addEventListener(
      "wheel",
      event => {
        if (!this.layout) return;
        const frame = svg.getBoundingClientRect(),
          before = [this.x, this.y, this.k];
        if (event.ctrlKey || event.metaKey)
          this.zoom(Math.exp(-event.deltaY / 300), {
            x: event.clientX - frame.left,
            y: event.clientY - frame.top,
          });
        else {
          this.x -= event.shiftKey ? event.deltaY : event.deltaX;
          this.y -= event.shiftKey ? 0 : event.deltaY;
          this.place();
        }
        // at the end of the drawing the page scrolls on
        if (before.some((x, i) => Math.abs(x - [this.x, this.y, this.k][i]) > 0.5)) event.preventDefault();
      },
      {passive: false},
    );
  }

  // ---- The small map

  drawMap() {
    if (!this.map) return;
    const {width, height} = this.layout,
      scale = Math.min(150 / width, 90 / height) * (this.size.width < 600 ? 0.65 : 1);
    this.map.setAttribute("viewBox", `-8 -8 ${width + 16} ${height + 16}`);
    this.map.setAttribute("width", Math.max(24, width * scale));
    this.map.setAttribute("height", Math.max(16, height * scale));
    this.map.replaceChildren(
      ...[...this.cards.values()].map(({box, kind, width, height}) =>
        svgElement("rect", {class: kind, x: box.left, y: box.top, width, height, rx: 8}),
      ),
      svgElement("rect", {class: "seen"}),
    );
  }

  showMap() {
    if (!this.map) return;
    this.map.toggleAttribute("hidden", this.fits());
    const seen = this.map.querySelector(".seen"),
      {width, height} = this.size;
    const values = {
      x: -this.x / this.k,
      y: -this.y / this.k,
      width: width / this.k,
      height: height / this.k,
    };
    for (const [key, value] of Object.entries(values)) seen?.setAttribute(key, value);
    // in a corner in which it covers nothing that matters now
    const [w, h] = ["width", "height"].map(side => +this.map.getAttribute(side) + 10);
    const busy = (this.picture?.focus ?? [])
      .map(name => this.cards.get(name)?.box)
      .filter(Boolean)
      .map(box => ({
        left: box.left * this.k + this.x,
        right: box.right * this.k + this.x,
        top: box.top * this.k + this.y,
        bottom: box.bottom * this.k + this.y,
      }));
    const corners = [
      [1, 1],
      [0, 1],
      [1, 0],
      [0, 0],
    ].map(([right, low]) => ({
      right,
      low,
      box: {
        left: right ? width - w : 0,
        right: right ? width : w,
        top: low ? height - h : 0,
        bottom: low ? height : h,
      },
    }));
    const {right, low} = corners.find(({box}) => busy.every(other => !overlap(box, other))) ?? corners[0];
    this.map.style.inset = `${low ? "auto" : "4px"} ${right ? "4px" : "auto"} ${low ? "4px" : "auto"} ` +
      `${right ? "auto" : "4px"}`;
  }

  listenToMap() {
    const go = event => {
      if (!event.buttons) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        this.map.getScreenCTM().inverse(),
      );
      this.moveTo(point.x, point.y);
    };
    this.map.addEventListener("pointerdown", go);
    this.map.addEventListener("pointermove", go);
  }

  // ---- The picture as a file

  // The whole drawing as the text of an SVG file, with the colours that it has now.
  file() {
    const {width, height} = this.needs();
    const copy = this.svg.cloneNode(true);
    const kept = ["fill", "stroke", "stroke-width", "opacity", "display"];
    const letters = ["font-family", "font-size", "font-weight"];
    const copies = copy.querySelectorAll("*");
    this.svg.querySelectorAll("*").forEach((element, i) => {
      const style = getComputedStyle(element);
      const names = element.matches("text, tspan") ? [...kept, ...letters] : kept;
      copies[i].setAttribute("style", names.map(name => `${name}: ${style.getPropertyValue(name)}`).join("; "));
    });
    for (const knob of copy.querySelectorAll(".turn, .grip, .unfold, .token")) knob.remove();
    copy.querySelector("g").setAttribute("transform", `translate(${MARGIN} ${MARGIN})`);
    const ground = svgElement("rect", {
      width,
      height,
      fill: getComputedStyle(this.svg).getPropertyValue("--panel").trim(),
    });
    copy.prepend(ground);
    for (const [key, value] of Object.entries({width, height, viewBox: `0 0 ${width} ${height}`}))
      copy.setAttribute(key, value);
    copy.removeAttribute("style");
    return {text: new XMLSerializer().serializeToString(copy), width, height};
  }
}
