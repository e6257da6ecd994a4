// The formula, the legend, what words mean, and a tour of five sentences.
// (The state of the page and its model are those of explain.js.)

function showFormula() {
  const {graph, name, inMath, isFormula} = model,
    isNamed = i => i in model.data.labels;
  const lines = [],
    write = (i, stop) => formulaOf(graph, i, {stop, called: callName(model), most: 14});
  if (!graph.isLeaf(graph.root)) {
    const large = graph.nodes.length > MOST_CARDS;
    lines.push([graph.root, write(graph.root, i => isNamed(i) && (large || model.users[i].length > 1))]);
    const named = graph.nodes.flatMap((_, i) =>
      i < graph.root && !graph.isLeaf(i) && isNamed(i) ? [i] : [],
    );
    if (!large && named.length && named.length <= 6)
      for (const i of named) lines.push([i, write(i, isNamed)]);
  }
  $("formula").replaceChildren(
    ...lines.map(([i, pieces], k) => {
      const line = made(k ? "span" : "p", "", {class: k ? "part" : "whole"});
      written(line, isFormula(i) ? pieces : [...inMath(i), " = ", ...pieces]);
      return line;
    }),
  );
  const leaf = picked < 0 ? model.leaves[0] : picked;
  $("sentence").replaceChildren();
  if (leaf === undefined) return;
  const values = {gradient: word("gradient"), x: inMath(leaf), o: inMath(graph.root)};
  for (const part of partsOf("{{say.meaning}}", values))
    if (part instanceof Element) $("sentence").append(part);
    else written($("sentence"), part);
}

const word = name => made("dfn", WORDS[name], {tabindex: "0", "data-word": name});

function makeLegend() {
  const shape = (kind, name) => {
    const item = made("span", "", {class: "key"}),
      icon = svgElement("svg", {viewBox: "0 0 26 16", class: "stage shape"}),
      group = svgElement("g", {class: kind});
    group.append(
      svgElement("rect", {
        class: "outline",
        x: 2,
        y: 2,
        width: 22,
        height: 12,
        rx: {input: 6, parameter: 1, constant: 6}[kind] ?? 3,
      }),
    );
    if (kind === "result")
      group.append(svgElement("rect", {class: "inner", x: 4.5, y: 4.5, width: 17, height: 7, rx: 1.5}));
    icon.append(group);
    item.append(icon, word(name));
    return item;
  };
  const colour = (className, name) => {
    const item = made("span", "", {class: `key ${className}`});
    item.append(word(name));
    return item;
  };
  const group = (...keys) => {
    const part = made("span", "", {class: "keys"});
    part.append(...keys);
    return part;
  };
  $("legend").append(
    group(...["input", "parameter", "operation", "result"].map(kind => shape(kind, kind))),
    group(colour("ink", "data"), colour("gradient", "gradient"), colour("", "dot")),
    group(shape("card now", "now")),
  );
}

// What a word means, where one points at it or reaches it with the Tab key.
function explainWords() {
  const tip = $("meaningOf");
  const tell = event => {
    const term = event.target.closest?.("dfn");
    tip.hidden = !term;
    if (!term) return;
    tip.textContent = MEANING[term.dataset.word];
    term.setAttribute("aria-describedby", "meaningOf");
    const place = term.getBoundingClientRect();
    tip.style.top = `${place.bottom + scrollY + 6}px`;
    const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(place.left, most))}px`;
  };
  document.addEventListener("pointerover", tell);
  document.addEventListener("focusin", tell);
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") tip.hidden = true;
  });
}

// ---- The tour

// A part of the page, and what is said of it.
const TOUR = [
  ["meaning", "{{tour.meaning}}"],
  ["picture", "{{tour.picture}}"],
  ["transport", "{{tour.transport}}"],
  ["now", "{{tour.now}}"],
  ["tools", "{{tour.tools}}"],
];
let stop = -1;

function showTour(at) {
  for (const [id] of TOUR) $(id).classList.remove("toured");
  stop = at < TOUR.length ? at : -1;
  $("tour").hidden = stop < 0;
  try {
    localStorage.setItem("micrograd toured", "yes");
  } catch {/* not allowed in a frame */}
  if (stop < 0) return;
  const [id, text] = TOUR[stop];
  $(id).classList.add("toured");
  $("tour").querySelector("p").textContent = text;
  const values = {at: stop + 1, last: TOUR.length};
  $("tour").querySelector("span").textContent = filled("{{steps.count}}", values);
  $("tourNext").textContent = stop === TOUR.length - 1 ? "{{tour.end}}" : "{{tour.next}}";
}
