// Mistakes that programmers make, and an example graph on which each of them shows.

import {$, listen, make, row} from "../shared/elements.js";
import {number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {given, loaded, page, past, recompute, show} from "./state.js";

// Those that steps.js can make: the names by key, and why by key.why.
export const MISTAKES = JSON.parse("{{mistake.*}}");

// The last operation with a local derivative other than 1: there the mistake shows.
export function defaultVictim() {
  const {graph, kinds, numbers} = page.model;
  const d = graph.forward(numbers);
  const shows = i => (o, k) => kinds[o] !== "c" && graph.localDerivative(i, k, d) !== 1;
  for (let i = graph.root; i >= 0; i--) if (graph.operands(i).some(shows(i))) return i;
  return graph.root;
}

const toggle = key => {
  past.remember();
  Object.assign(page, {mistake: page.mistake === key ? "" : key, victim: defaultVictim()});
  recompute();
};
for (const key of ["assign", "order", "twice", "local"])
  $("switches").append(make("button", {"data-mistake": key, click: () => toggle(key)}, MISTAKES[key]));
const toExample = () => {
  past.remember();
  show(loaded(given.example));
  page.victim = defaultVictim();
  recompute();
  page.transport.goTo(page.model.steps.count - 1);
};
const toOwn = () => {
  past.remember();
  page.mistake = "";
  show(page.own);
  page.transport.goTo(0);
};
listen({toExample, toOwn});

export function showMistake({at}) {
  const {model, mistake, victim} = page;
  const {name, steps, wrong} = model;
  for (const button of $("switches").children) button.setAttribute("aria-pressed", button.dataset.mistake === mistake);
  $("why").hidden = !mistake;
  $("why").textContent = filled(MISTAKES[`${mistake}.why`] ?? "", {name: name(victim)});
  $("offer").hidden = !mistake || wrong.length > 0;
  $("comparison").hidden = !wrong.length;
  const isLast = at === steps.count - 1;
  const rows = wrong.slice(0, 12).map(([i, ...both]) => row([name(i), ...both.map(x => (isLast ? number(x) : "·"))]));
  const later = isLast ? [] : [row(["{{mistakes.later}}"])];
  const [body] = $("comparison").getElementsByTagName("tbody");
  body.replaceChildren(...rows, ...later);
}
