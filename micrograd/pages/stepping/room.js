// The room for the drawing, and the boxes that fold and unfold in it.

import {$, make, press} from "../shared/elements.js";
import {LEAST, MARGIN} from "../shared/pane.js";
import {filled} from "../shared/texts.js";
import {describe} from "./moment.js";
import {MOST_OPENED, page, unfolded} from "./state.js";

export const mostZoom = () => (isPresenting() ? 2.2 : 1.25);
export const isPresenting = () => document.body.classList.contains("presenting");

export function resize() {
  const {stage} = page;
  const presenting = isPresenting();
  const width = document.documentElement.clientWidth;
  const free = innerHeight - $("meaning").offsetHeight;
  const room = presenting ? free - 70 : width < 700 ? 0.42 * innerHeight : Math.max(332, free - 372); // what happens now stays in sight
  const {width: wide, height: high} = stage.layout;
  const fitting = Math.min((stage.size.width - 2 * MARGIN) / wide, (room - 2 * MARGIN) / high);
  const k = Math.max(LEAST, Math.min(mostZoom(), fitting));
  const needed = stage.needs(k).height + (presenting ? 0 : 26); // room for notes below the cards
  stage.svg.style.height = `${Math.round(Math.max(210, Math.min(room, needed)))}px`;
  stage.fit(mostZoom());
  const focus = stage.picture?.focus ?? [];
  if (!stage.fits()) stage.lookAt(focus.length ? focus : [stage.cards.keys().next().value]);
}

// The same moment, drawn anew in other room.
export function redraw() {
  const {stage} = page;
  stage.draw(page.model.view, describe);
  stage.show({...stage.picture, travel: false});
  resize();
}

export function present(on) {
  document.body.classList.toggle("presenting", on);
  press("present", on);
  page.stage.large = on;
  redraw();
}

// Unfolds a box in place, and stays at the moment that is shown.
export function fold(change) {
  const {model, transport} = page;
  const at = transport.at();
  const {phase} = model.steps.list[at];
  const before = model.steps.list.slice(0, at + 1).reduce((sum, {nodes}) => sum + nodes.length, 0);
  const boxes = new Set(page.open);
  change(boxes);
  if (model.levels.count(boxes) > MOST_OPENED) return;
  page.open = boxes;
  unfolded();
  showFolds();
  // the last step of the new list at which no more operations have run than now
  let same = 0;
  let run = 0;
  model.steps.list.forEach((step, k) => {
    run += step.nodes.length;
    if (run <= before && (phase === "end" || step.phase !== "end")) same = k;
  });
  transport.goTo(same);
}

const boxesShown = () => [...page.model.view.items.values()].filter(({box}) => box !== undefined);

export function unfold() {
  const {view, steps} = page.model;
  const box = view.items.get(steps.list[page.transport.at()].item)?.box ?? boxesShown()[0]?.box;
  if (box !== undefined) fold(boxes => boxes.add(box));
}

export function showFolds() {
  const {levels, boxes, view} = page.model;
  // the innermost ones first, and not more than a line of them
  const opened = [...view.frames].sort((a, b) => levels.depth[b] - levels.depth[a]);
  const foldButton = (text, change) => make("button", {class: "fold", click: () => fold(change)}, text);
  $("folds").replaceChildren(
    ...opened.slice(0, 3).map(j => foldButton(filled("{{fold.one}}", {name: boxes[j].label}), some => some.delete(j))),
    ...(opened.length > 1 ? [foldButton("{{fold.all}}", some => some.clear())] : []),
  );
  $("unfold").hidden = !boxesShown().length;
}
