// What came of a run, below the editor: what was printed and shown, then the verdict.

import {drawing, shownElement} from "./frames.js";
import {TEXTS, element, textOf, words} from "./texts.js";

export class Results {
  constructor(printed, shown, verdict) {
    Object.assign(this, {printed, shown, verdict});
  }

  clear() {
    this.printed.textContent = "";
    this.shown.replaceChildren();
    this.verdict.replaceChildren();
    for (const part of [this.printed, this.shown, this.verdict]) part.hidden = true;
  }

  print({text, cut}) {
    this.printed.hidden = false;
    this.printed.append(text + (cut ? `\n${textOf("cut")}` : ""));
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

  error({text, line, calls, lacking}) {
    const about = line ? textOf("error", {line}) : textOf("error.nowhere");
    const parts = [element("h3", {}, about), element("pre", {class: "code"}, [...calls, text].join("\n"))];
    if (lacking) parts.push(element("p", {}, ...words(textOf("lacking", {name: lacking.split(".")[0]}))));
    this.tell("bad", ...parts);
  }

  // The first wrong number, the rule by its name, the program and its graph. Hints are asked for.
  finding(finding) {
    const about = finding.number ? textOf("wrong", finding) : textOf("wrong.other");
    const rule = element("p", {class: "rule"}, textOf("rule", {name: textOf(`rule.${finding.rule}`)}));
    const numbers = element("dl", {});
    for (const key of ["expected", "found"]) {
      const text = key === "found" && finding.place ? `${finding.found} (${finding.place})` : finding[key];
      if (text) numbers.append(element("dt", {}, textOf(key)), element("dd", {class: key}, text));
    }
    const parts = [element("h3", {}, about), rule, numbers];
    if (finding.program) {
      const program = finding.program.split("; ").join("\n");
      parts.push(element("p", {class: "faint"}, textOf("program")), element("pre", {class: "code"}, program));
    }
    if (finding.svg) {
      const caption = textOf(finding.number ? "drawing" : "drawing.plain");
      parts.push(drawing(finding.svg, caption), element("p", {class: "faint"}, caption));
    }
    this.hints = element("ol", {class: "hints"});
    this.tell("bad", ...parts, this.hints);
  }

  solution(program) {
    this.hints.after(element("p", {}, textOf("solution.is")), element("pre", {class: "code"}, program));
  }

  hint(stage, text) {
    this.hints.append(element("li", {}, element("b", {}, textOf(`hint.${stage}`)), " ", ...words(text)));
    this.verdict.scrollTop = this.hints.lastChild.offsetTop - this.verdict.offsetTop - 8;
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
  return textOf(finding.line ? "where.method" : "where.absent", finding);
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, ".");
