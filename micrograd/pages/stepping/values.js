// The values of a box, on demand: what it computed, with gradients, and what it passed back to its operands.

import {scaled} from "../shared/cards.js";
import {$, make} from "../shared/elements.js";
import {counted, number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {MOST_ROWS, page, redraw} from "./state.js";

// The box that the buttons open: the one that was looked at last, if it is shown, that of this step, or the
// first that computes; or -1.
export function boxNow() {
  const {view, steps, boxes} = page.model;
  const items = [`b${page.box}`, steps.list[page.transport.at()].item].map(name => view.items.get(name));
  const isBox = item => item?.box !== undefined && boxes[item.box].kind !== "outside";
  const computing = [...view.items.values()].filter(item => isBox(item) && boxes[item.box].kind !== "leaves");
  return [...items, ...computing, ...view.items.values()].find(isBox)?.box ?? -1;
}

export function showValues(box = boxNow()) {
  page.values = page.model.view.items.has(`b${page.values}`) && box === page.values ? -1 : box;
  page.box = box;
  redraw();
}

export function drawValues({state, hidden}) {
  const {model, values} = page;
  const {steps, view, boxes, kinds} = model;
  const item = view.items.get(`b${values}`);
  $("values").hidden = !item;
  $("openValues").hidden = boxNow() < 0;
  $("openValues").setAttribute("aria-expanded", Boolean(item));
  if (!item) return;
  const {known, seeded, d, g} = state;
  const few = nodes => nodes.slice(0, MOST_ROWS);
  const line = (nodes, name, kind, isKnown, numbers) => {
    const head = nodes.length > 1 && nodes.every(i => isKnown[i]) ? scaled(name, nodes.map(numbers)) : name;
    const cells = few(nodes).map(i => make("td", "", hidden.has(i) ? "?" : isKnown[i] ? number(numbers(i)) : "·"));
    return make("tr", kind, make("th", {scope: "row"}, head), ...cells);
  };
  const table = (nodes, ...lines) => {
    const names = few(nodes).map(i => make("th", {scope: "col"}, model.name(i)));
    const rest = nodes.length - names.length;
    if (rest) names.push(make("th", "", filled("{{list.rest}}", {n: counted(rest)})));
    return make("table", "", make("tr", "", make("td"), ...names), ...lines);
  };
  const {outputs} = item;
  const back = steps.passed(item, state);
  const receivers = [...back.keys()].filter(i => kinds[i] !== "c");
  const data = line(outputs, "data", "", known, i => d[i]);
  const grad = line(outputs, "grad", "gradient", seeded, i => g[i]);
  const share = line(receivers, "{{word.share}}", "gradient", seeded, i => back.get(i));
  $("values").replaceChildren(
    make("button", {class: "close", click: () => showValues(values)}, "{{explain.close}}"),
    make("h2", "", filled("{{values.of}}", {name: boxes[values].label, n: counted(outputs.length)})),
    table(outputs, data, grad),
    ...(receivers.length ? [make("h2", "", "{{values.back}}"), table(receivers, share)] : []),
  );
}
