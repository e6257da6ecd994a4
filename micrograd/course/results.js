// What came of a run, below the editor: what was printed and shown, then the verdict.

import {drawing, shownElement} from "./frames.js";
import {TEXTS, element, textOf, words} from "./lesson.js";

export class Results {
  constructor(printed, shown, verdict, training) {
    this.printed = printed;
    this.shown = shown;
    this.verdict = verdict;
    this.training = training;
  }

  clear() {
    this.printed.textContent = "";
    this.shown.replaceChildren();
    this.verdict.replaceChildren();
    for (const part of [this.printed, this.shown, this.verdict, this.training]) part.hidden = true;
  }

  print({text, cut}) {
    this.printed.hidden = false;
    this.printed.append(text + (cut ? `\n${textOf("cut")}` : ""));
  }

  // The loss of each training step so far, while the program runs.
  train(losses) {
    const [width, height] = [600, 120];
    const most = Math.max(...losses.filter(Number.isFinite), 1e-9);
    const points = losses.map(
      (loss, i) =>
        `${(i / Math.max(1, losses.length - 1)) * width},${height - (Math.min(loss, most) / most) * (height - 4)}`,
    );
    const about = textOf("training", {step: losses.length, loss: losses.at(-1).toPrecision(4)});
    const svg = `<svg viewBox="0 -2 ${width} ${height + 4}" preserveAspectRatio="none" aria-hidden="true"><polyline points="${points.join(" ")}"/></svg>`;
    this.training.innerHTML = svg;
    this.training.append(element("p", {class: "faint"}, about));
    this.training.hidden = false;
  }

  show(shown) {
    this.shown.hidden = false;
    this.shown.append(shownElement(shown));
  }

  tell(look, ...content) {
    this.verdict.hidden = false;
    this.verdict.className = look;
    this.verdict.replaceChildren(...content);
  }

  // `missing` says which chapters the program lacks, if its error is a name that they define.
  error({text, line, calls, lacking}, missing) {
    const about = line ? textOf("error", {line}) : textOf("error.nowhere");
    const parts = [
      element("h3", {}, missing || about),
      ...(missing ? [element("p", {}, about)] : []),
      element("pre", {class: "code"}, [...calls, text].join("\n")),
    ];
    if (lacking) parts.push(element("p", {}, ...words(textOf("lacking", {name: lacking.split(".")[0]}))));
    this.tell("bad", ...parts);
  }

  // The first wrong number, the program and its graph. The rule is in the hints, which are asked for.
  finding(finding) {
    const about = finding.number ? textOf("wrong", finding) : textOf("wrong.other");
    const numbers = element("dl", {});
    for (const key of ["expected", "found"]) {
      const text = key === "found" && finding.place ? `${finding.found} (${finding.place})` : finding[key];
      if (text) numbers.append(element("dt", {}, textOf(key)), element("dd", {class: key}, text));
    }
    const parts = [element("h3", {}, about), numbers];
    if (finding.done.length)
      parts.unshift(element("p", {class: "done"}, textOf("done", {done: finding.done.join(", ")})));
    if (finding.program) {
      const program = finding.program.split("; ").join("\n");
      parts.push(element("p", {class: "faint"}, textOf("program")), element("pre", {class: "code"}, program));
    }
    if (finding.svg) {
      const caption = textOf(finding.svg.includes(">found<") ? "drawing" : "drawing.plain");
      parts.push(drawing(finding.svg, caption), element("p", {class: "faint"}, caption));
    }
    this.hints = element("ol", {class: "hints"});
    this.tell("bad", ...parts, this.hints);
  }

  solution(program) {
    const heading = element("p", {}, textOf("solution.is"));
    this.hints.after(heading, element("pre", {class: "code"}, program));
    this.bring(heading);
  }

  hint(stage, text) {
    this.hints.append(element("li", {}, element("b", {}, textOf(`hint.${stage}`)), " ", ...words(text)));
    this.bring(this.hints.lastChild);
  }

  // Scrolls within the verdict, and the page to all of it.
  bring(part) {
    this.verdict.scrollTop = part.offsetTop - this.verdict.offsetTop - 8;
    this.verdict.scrollIntoView({block: "nearest"});
  }
}

export const STAGES = ["what", "where", "how"];

// The text of a hint: from the table of texts, or from the rule that `grade` names.
export function hintOf(finding, stage) {
  const key = `rule.${finding.rule}.${stage}`;
  if (key in TEXTS) return textOf(key);
  if (stage !== "where") return sentence(finding[stage]);
  if (!finding.method) return textOf("where.class");
  if (!finding.line) return textOf("where.absent", finding);
  return textOf(finding.absent ? "where.add" : "where.method", finding);
}

// `a * b must ...` begins with code, where a capital letter would be wrong.
function sentence(text) {
  const whole = text.replace(/\.?$/, ".");
  if (/^[a-z]+( [a-z]|,)/.test(whole) && !/^a [^a-z]/.test(whole))
    return whole.charAt(0).toUpperCase() + whole.slice(1);
  return /^[a-z0-9-]/.test(whole) ? textOf("begins", {text: whole}) : whole;
}
