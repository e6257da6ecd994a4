// What happens now: the phase, the sentence, the equation, and the chain rule for each operand.

import {$, make} from "../shared/elements.js";
import {PRODUCT, plain, written} from "../shared/formula.js";
import {termOf} from "../shared/glossary.js";
import {number} from "../shared/numbers.js";
import {isPresenting} from "../shared/present.js";
import {filled} from "../shared/texts.js";
import {withButtons} from "./meaning.js";
import {page} from "./state.js";
import {toldNudge} from "./trying.js";
import {asText, explained, isTold, localRule, sumOf} from "./words.js";

const PHASES = JSON.parse("{{phase.*}}");

export function showNow(moment) {
  const {at, step, hidden, lesson, isNudged, sentence} = moment;
  const {steps} = page.model;
  document.body.classList.toggle("backward", at >= steps.seedAt);
  $("phase").dataset.word = at < steps.seedAt ? "forward" : "backward";
  $("phase").textContent = lesson ? "{{button.step}}" : PHASES[step.phase === "seed" ? "backward" : step.phase];
  withButtons($("sentenceNow"), isNudged ? toldNudge(moment) : lesson ? "" : sentence);
  showEquation(moment);
  showChains(moment);
  if (!page.transport.isPlaying()) $("spoken").textContent = hidden.size ? sentence : asText(page.model, at, moment);
  const last = steps.count - 1;
  $("slider").setAttribute("aria-valuetext", filled("{{step.spoken}}", {at, last, sentence}));
  showAlarm(moment);
}

// The first number that is not finite. The page keeps computing; the engine would raise an error.
function showAlarm({state: {d, g, known, seeded}}) {
  const {initial, numbers, name} = page.model;
  const at = d.findIndex((x, i) => known[i] && !Number.isFinite(x));
  const back = g.findIndex((x, i) => seeded[i] && !Number.isFinite(x));
  $("alarm").hidden = at < 0 && back < 0;
  if (at < 0 && back < 0) return;
  const [i, key, x] = at >= 0 ? [at, "{{alarm.data}}", d[at]] : [back, "{{alarm.gradient}}", g[back]];
  const isTurned = [...initial].some(([leaf, start]) => !Object.is(numbers.get(leaf), start));
  const fix = isTurned ? "{{alarm.turned}}" : "{{alarm.leaves}}";
  $("alarm").textContent = `${filled(key, {name: name(i), x: number(x)})} ${fix}`;
}

function showEquation({equation, hidden}) {
  $("equation").replaceChildren();
  if (!equation) return;
  const result = [hidden.size ? "?" : equation.result];
  const all = [page.model.inMath(equation.node), equation.names, equation.numbers, result];
  const parts = all.filter((part, k) => !k || plain(part) !== plain(all[k - 1]));
  parts.forEach((part, k) => {
    const isLast = k === parts.length - 1;
    if (k) $("equation").append(isLast ? ` ${equation.is} ` : " = ");
    $("equation").append(written(make(isLast ? "b" : "span"), part));
  });
}

// The chain rule for each operand: three numbers in their colours, each above what it is called.
function showChains({at, chains, state, hidden, lesson}) {
  const {model} = page;
  const {root} = model.graph;
  $("chains").replaceChildren();
  const factor = (kind, text, names, term) =>
    make("span", `factor ${kind}`, make("b", "", text), written(make("small"), names), term ? termOf(term) : "");
  const after = i => ["∂", ...model.inMath(i, PRODUCT + 1)];
  const rate = (of, by) => [...after(of), " / ", ...after(by)];
  const sign = text => make("span", "sign", text);
  const most = isPresenting() ? 2 : chains[0]?.giver < 0 ? 3 : 6;
  const first = chains.find(isTold); // only its factors are named: the others are below it
  const note = (text, name = "note") => $("chains").append(withButtons(make("p", name), text));
  for (const chain of chains.slice(0, most)) {
    const isHidden = hidden.has(chain.node);
    const use = chain.use ? make("small", "", ` ${chain.use}`) : "";
    const to = written(make("b"), model.inMath(chain.node));
    const row = make("div", "chain", make("span", "to", make("small", "", "{{chain.to}} "), to, use));
    if (isTold(chain)) {
      const rule = chain.edge < 0 || isHidden ? [] : localRule(model, chain);
      const names = [...rate(chain.giver, chain.node), ...(rule.length ? [" = ", ...rule] : [])];
      const [local, upstream] = [isHidden ? "?" : number(chain.local), number(chain.upstream)];
      const isFirst = chain === first;
      row.append(factor("local", local, names, isFirst && "local"), sign("×"));
      row.append(factor("gradient", upstream, rate(root, chain.giver), isFirst && "upstream"), sign("="));
    }
    const share = isHidden ? "?" : number(chain.share);
    row.append(factor("share", share, [], chain === (first ?? chains[0]) && "share"));
    if (!isHidden) row.append(make("span", "sum", sumOf(model, chain, state)));
    $("chains").append(row);
  }
  if (chains.length > most) note(filled("{{list.rest}}", {n: chains.length - most}), "note rest");
  if (!lesson) for (const text of explained(model, at, page.mistake || hidden.size ? null : first)) note(text);
}
