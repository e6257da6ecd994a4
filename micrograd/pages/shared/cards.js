// The drawing of a graph: cards, arrows, labels on arrows, tokens that travel.
//
//   const stage = new Stage(svg, {map, isDown, onTurn, onPick, onUnfold});
//   stage.draw(view, describe);   lays out and draws what levels.js says is visible
//   stage.show(picture);          numbers and colours of one moment
//
// describe(item) is {kind, title, full, sign, about, fixed, control}. A picture is {backward, travel,
// focus: [names of items], cards: Map from name to {data, before, grad, now, given, later, fresh, badge,
// picked}, arrows: for each arrow {now, passed, later, label, strong}}; the label of an arrow is
// {local, upstream, share}, three texts, or just {text}; or also {use, isFirst} if the operand is used
// more than once: which use this is, and whether it is the first.

const WIDTH = 148,
  STRIP = 24,
  ROW = 18,
  DIGIT = 8.3;

// As much of the text as there is room for, at so many pixels for a letter.
const fitted = (text, room, letter = 7.3) => {
  const letters = [...text],
    most = Math.max(1, Math.floor(room / letter));
  return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
};
// The old number and the new one, side by side: condensed if they need more room than there is, and
// never one over the other; if that is not enough, the new one alone.
function beside(card, changed) {
  const both = [card.word, card.data];
  card.word.removeAttribute("textLength");
  if (!changed) return;
  card.data.removeAttribute("textLength");
  const lengths = both.map(element => element.getComputedTextLength());
  const share = (card.width - +card.word.getAttribute("x") - 13) / (lengths[0] + lengths[1]);
  if (share < 0.8) card.word.textContent = "→";
  else if (share < 1)
    both.forEach((element, k) => {
      element.setAttribute("textLength", lengths[k] * share);
      element.setAttribute("lengthAdjust", "spacingAndGlyphs");
    });
}
const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// The size of a card.
function cardSize({kind, about = [], data = true}) {
  if (kind === "constant") return {width: 66, height: 30};
  if (kind === "box") return {width: 150, height: 34 + 16 * about.length + (data ? 2 * ROW : 0)};
  return {width: WIDTH, height: 14 + 3 * ROW};
}

class Stage extends Pane {
  constructor(svg, {map = null, isDown = () => false, ...callbacks} = {}) {
    super(svg, map);
    Object.assign(this, {isDown, callbacks, arrows: []});
    this.layers = ["frames", "lines", "cards", "tokens", "labels"].map(name =>
      svgElement("g", {class: name}),
    );
    this.world.append(...this.layers);
  }

  // ---- What is there

  draw(view, describe) {
    this.view = view;
    for (const layer of this.layers) layer.replaceChildren();
    this.cards.clear();
    this.down = this.isDown();
    const size = this.size; // read while the drawing is empty, which takes no time
    const items = [...view.items.values()],
      place = new Map(items.map((item, k) => [item.name, k]));
    this.about = items.map(describe);
    const sizes = this.about.map(cardSize);
    const arrows = view.arrows.map(arrow => ({
      ...arrow,
      from: place.get(arrow.from),
      to: place.get(arrow.to),
    }));
    // as much room for labels between the ranks as there is; but not less than needed, if one has to
    // pan anyway
    this.layout = layered(sizes, arrows, {
      down: this.down,
      gaps: this.down ? [72] : this.large ? [66] : [150, 112, 86, 66, 86],
      room: (size.width - 2 * MARGIN) / LEAST,
      beside: this.down ? 10 : 18,
    });
    items.forEach((item, k) => {
      const card = this.drawCard(item, this.about[k], this.layout.centres[k], sizes[k]);
      this.cards.set(item.name, card);
      this.layers[2].append(card.group);
    });
    this.arrows = view.arrows.map((arrow, k) => this.drawArrow(arrow, this.layout.paths[k]));
    this.svg.classList.toggle("many", this.arrows.length > 50);
    this.layers[1].append(...this.arrows.map(({group}) => group));
    this.drawFrames();
    this.drawMap(size);
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
    if (kind === "result")
      group.append(
        svgElement("rect", {class: "inner", x: 3.5, y: 3.5, width: width - 7, height: height - 7, rx: 4}),
      );
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
      card.word = text("word", inner, (line += ROW), "data");
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
    grip.append(svgElement("title", {}, "{{card.turn}}"));
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
    return {...arrow, group, points};
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
        const left = {constant: 0, operation: STRIP + 6, result: STRIP + 6}[card.kind] ?? 10;
        const room = card.width - left - (card.kind === "constant" ? 8 : 37 + 9);
        if (text.length * DIGIT > room + 4) element.setAttribute("textLength", room);
        else element.removeAttribute("textLength");
        element.classList.toggle("fresh", Boolean(fresh));
      };
      if (card.word) card.word.textContent = state.before ? `${state.before}\u2009→` : "data";
      put(card.data, state.data ?? "·", state.fresh === "data");
      put(card.grad, state.grad ?? "·", state.fresh === "grad");
      if (card.word) beside(card, Boolean(state.before));
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

  label(arrow, {local, upstream, share, text, use, isFirst}, taken) {
    const lines = text
      ? [[["plain", text]]]
      : this.layout.between < 100 && !this.down
        ? [
            [["local", local]],
            [["plain", "× "], ["gradient", upstream]],
            [["plain", "= "], ["share", share]],
          ]
        : [
            [["local", local], ["plain", " × "], ["gradient", upstream]],
            [["plain", "= "], ["share", share]],
          ];
    if (use) lines.unshift([["word", use]]);
    const letters = Math.max(...lines.map(line => line.reduce((sum, [, part]) => sum + part.length, 0)));
    const size = {width: letters * 7.6 + 14, height: lines.length * 17 + 6};
    const length = pathLength(arrow.points);
    const along = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map(t => pathPoint(arrow.points, t, this.down));
    // beside the arrow if it would cover most of it, or if there are two between the same cards
    const [operand, giver] = [arrow.points[0], arrow.points[arrow.points.length - 1]];
    const isShort = !this.down && length < 2.6 * size.width;
    const lean = use ? (isFirst ? -0.62 : 0.62) : isShort ? (operand.y > giver.y ? 0.8 : -0.8) : 0;
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
    const places = [{x, y: bottom + size.height / 2 + 4}, {x, y: top - size.height / 2 - 4}];
    this.plate(
      size,
      freePlace(places, size, taken.filter(other => other !== card.box)),
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
      .map(({points}) => {
        const token = svgElement("circle", {class: "token", r: 7});
        this.layers[3].append(token);
        return {token, points};
      });
    const begun = performance.now();
    const move = now => {
      if (this.run !== run) return;
      const t = Math.min(1, Math.max(0, (now - begun) / duration)),
        eased = t * t * (3 - 2 * t);
      for (const {token, points} of tokens) {
        const {x, y} = pathPoint(points, backward ? 1 - eased : eased, this.down);
        token.setAttribute("cx", x);
        token.setAttribute("cy", y);
        if (t === 1) token.remove();
      }
      if (t < 1) requestAnimationFrame(move);
    };
    move(begun);
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
