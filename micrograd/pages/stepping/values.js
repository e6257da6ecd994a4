// The values of a box, on demand: what it computed, with gradients, and what it passed back to its operands.

import {$, make} from "../shared/elements.js";
import {counted, number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {MOST_ROWS, page, redraw} from "./state.js";

// The box of this item; without one, of the item of this step, or of the first that has several values.
export function showValues(box) {
  const {view, steps, boxes} = page.model;
  const items = [view.items.get(steps.list[page.transport.at()].item), ...view.items.values()];
  const isLong = item => item?.box !== undefined && boxes[item.box].kind !== "outside" && item.outputs.length > 1;
  const isOpen = view.items.has(`b${page.values}`) && (box === undefined || box === page.values);
  page.values = isOpen ? -1 : (box ?? items.find(isLong)?.box ?? -1);
  redraw();
}

export function drawValues({state, hidden}) {
  const {model, values} = page;
  const {steps, view, boxes, kinds} = model;
  const item = view.items.get(`b${values}`);
  $("values").hidden = !item;
  $("openValues").hidden = ![...view.items.values()].some(({box}) => box !== undefined);
  $("openValues").setAttribute("aria-expanded", Boolean(item));
  if (!item) return;
  const text = (isKnown, i, x) => (hidden.has(i) ? "?" : isKnown[i] ? number(x) : "·");
  const {known, seeded, d, g} = state;
  const lines = (nodes, rows) => {
    const few = nodes.slice(0, MOST_ROWS);
    const names = few.map(i => make("th", {scope: "col"}, model.name(i)));
    const rest = nodes.length - few.length;
    if (rest) names.push(make("th", "", filled("{{list.rest}}", {n: counted(rest)})));
    const row = ([name, kind, tell]) =>
      make("tr", kind, make("th", {scope: "row"}, name), ...few.map(i => make("td", "", tell(i))));
    return make("table", "", make("tr", "", make("td"), ...names), ...rows.map(row));
  };
  const back = steps.passed(item, state);
  const receivers = [...back.keys()].filter(i => kinds[i] !== "c");
  $("values").replaceChildren(
    make("h2", "", filled("{{values.of}}", {name: boxes[values].label, n: counted(item.outputs.length)})),
    make("button", {class: "close", click: () => showValues(values)}, "{{explain.close}}"),
    lines(item.outputs, [
      ["data", "", i => text(known, i, d[i])],
      ["grad", "gradient", i => text(seeded, i, g[i])],
    ]),
    ...(receivers.length
      ? [
          make("h2", "", "{{values.back}}"),
          lines(receivers, [["{{word.share}}", "gradient", i => number(back.get(i))]]),
        ]
      : []),
  );
}
