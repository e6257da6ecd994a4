// Predict: the numbers of a step stay hidden until they have been typed.

import {$, listen, press} from "../shared/elements.js";
import {number} from "../shared/numbers.js";
import {shownNode} from "../shared/picture.js";
import {filled} from "../shared/texts.js";
import {page, redraw} from "./state.js";

function questions({step, state, chains}) {
  const {model} = page;
  if (step.phase === "forward" && state.changes.length) {
    const i = shownNode(model.view.items.get(step.item));
    return i < 0 ? [] : [{node: i, text: `${model.name(i)} = `, value: state.d[i]}];
  }
  const nodes = [...new Set(chains.map(({node}) => node))].slice(0, 4);
  const ask = node => filled("{{ask.gradient}}", {name: model.name(node)});
  return nodes.map(node => ({node, text: ask(node), value: state.g[node]}));
}

// The nodes whose numbers are hidden at a step. `now`: of told().
export function hiddenAt(at, now) {
  if (!page.asking) return new Set();
  const nodes = questions(now).map(({node}) => node);
  return new Set(nodes.filter(node => !page.answered.has(`${at}/${node}`)));
}

listen({predict});
function predict() {
  page.asking = !page.asking;
  page.answered.clear();
  if (page.asking) page.transport.pause();
  if (page.asking && page.transport.at() === 0) page.transport.goTo(1);
  else redraw();
  if (page.asking) $("question").scrollIntoView({block: "nearest"});
}

export function askQuestion(moment) {
  press("predict", page.asking);
  const {at, step, hidden} = moment;
  const all = questions(moment);
  const question = all.find(({node}) => hidden.has(node));
  $("predict").disabled = !page.asking && at > 0 && !all.length;
  $("verdict").hidden = true;
  $("question").hidden = !question;
  if (!question) return;
  const {node, text, value} = question;
  $("asked").textContent = text;
  $("answer").value = "";
  const finish = said => {
    page.answered.add(`${at}/${node}`);
    redraw();
    showVerdict(true, filled(said, {x: number(value)}));
  };
  $("question").onsubmit = event => {
    event.preventDefault();
    const [above, below = 1] = $("answer").value.replace("−", "-").replace(",", ".").split("/").map(Number);
    const typed = above / below;
    if ($("answer").value.trim() === "" || Number.isNaN(typed)) return showVerdict(false, "{{ask.number}}");
    const isClose = Math.abs(typed - value) <= Math.max(0.01 * Math.abs(value), 1e-12);
    if (isClose || number(typed) === number(value)) finish("{{ask.right}}");
    else showVerdict(false, step.phase === "forward" ? "{{ask.forward}}" : "{{ask.backward}}");
  };
  $("tell").onclick = () => finish("{{ask.told}}");
}

function showVerdict(isRight, text) {
  $("verdict").hidden = false;
  $("verdict").className = isRight ? "good" : "wrong";
  $("verdict").textContent = `${isRight ? "✓" : "✗"} ${text}`;
}
