// The drawer: mistakes, and the moment that is shown in other forms: text, code.

import {$, make} from "../shared/elements.js";
import {number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {hiddenAt} from "./predict.js";
import {MOST_ROWS, given, page, redraw} from "./state.js";
import {asText, told} from "./words.js";

const tabs = $("tabs").querySelectorAll("button");
const nameOf = tab => tab.getAttribute("aria-controls");
const PANELS = [...tabs].map(nameOf);

for (const tab of tabs)
  tab.addEventListener("click", () => {
    page.panel = page.panel === nameOf(tab) ? "" : nameOf(tab);
    redraw();
    if (page.panel) $("drawer").scrollIntoView({block: "nearest"});
  });
// On paper there are all steps, and the whole graph after the last one.
let onScreen = 0; // the step
addEventListener("beforeprint", () => {
  onScreen = page.transport.at();
  page.transport.goTo(page.model.steps.count - 1);
  page.stage.svg.setAttribute("viewBox", page.stage.whole());
  for (const id of PANELS) $(id).hidden = id !== "transcript";
  writeTranscript(Math.min(page.model.steps.count - 1, 2000));
});
addEventListener("afterprint", () => {
  page.stage.svg.removeAttribute("viewBox");
  page.transport.goTo(onScreen);
});

export function showDrawer({at, state}) {
  const {panel} = page;
  for (const id of PANELS) $(id).hidden = id !== panel;
  for (const tab of tabs) tab.setAttribute("aria-expanded", nameOf(tab) === panel);
  if (panel === "transcript") writeTranscript(at);
  if (panel === "code") showCode(at, state);
}

// The steps so far: later ones would give numbers away.
function writeTranscript(last) {
  const {model} = page;
  const from = Math.max(0, last - MOST_ROWS);
  const [list, more] = $("transcript").children;
  const lines = Array.from({length: last - from + 1}, (_, k) => {
    const isHidden = page.asking && hiddenAt(from + k, told(model, from + k)).size;
    return make("li", "", isHidden ? "?" : asText(model, from + k));
  });
  list.start = from;
  list.replaceChildren(...lines);
  const rest = model.steps.count - 1 - last;
  more.textContent = rest ? filled("{{transcript.more}}", {n: rest}) : "";
}

// The closure of the operation of this step, with the lines that run now.
function showCode(at, {changes}) {
  const {steps, view, graph} = page.model;
  const {phase, item} = steps.list[at];
  const i = view.items.get(item)?.node ?? -1;
  if (i < 0 || (phase !== "forward" && phase !== "backward"))
    return $("code").replaceChildren(make("p", "faint", "{{code.later}}"));
  const parts = [];
  const source = given.code[graph.rule(i).op];
  if (source) {
    const isRunning = line => phase === "backward" && /\.grad\b.*=/.test(line);
    const block = source.split("\n").map(line => make("span", isRunning(line) ? "running" : "", `${line}\n`));
    const runs = filled("{{code.runs}}", {upstream: changes.length ? number(changes[0].upstream) : "·"});
    parts.push(make("p", "", phase === "backward" ? runs : "{{code.kept}}"), make("pre", "code", ...block));
  }
  return $("code").replaceChildren(...parts, make("p", "faint", parts.length ? "" : "{{code.none}}"));
}
