// The page that steps through a graph: connects its parts, and begins.
//
// A new button is an element in explain.html with an id, its text in micrograd/texts/en.toml (its name for
// screen readers too, if the text is a sign), and a line in `listen` of the part that it belongs to. What it changes
// is in stepping/state.js, which knows no part of the page; what shows the change is one of `parts` or `panels`.

import {listenToLinks} from "./shared/state.js";
import {$} from "./shared/elements.js";
import {WORDS, explainWords} from "./shared/glossary.js";
import {isPresenting} from "./shared/present.js";
import {makeTransport} from "./shared/transport.js";
import {showDrawer} from "./stepping/drawer.js";
import {PACE, drawGraph, listBoxes, showGraph} from "./stepping/graph.js";
import {showFormula, showOrigin} from "./stepping/meaning.js";
import {showMistake} from "./stepping/mistakes.js";
import {showNow} from "./stepping/moment.js";
import {askQuestion, hiddenAt} from "./stepping/predict.js";
import {keepAddress, takeAddress} from "./stepping/sending.js";
import {page, panels, show} from "./stepping/state.js";
import {showSlope} from "./stepping/slope.js";
import {isKnownAt, listLeaves, nudgeAt, showDescent, showNudge, showTools} from "./stepping/trying.js";
import {drawValues} from "./stepping/values.js";
import {told} from "./stepping/words.js";

const trials = [askQuestion, showNudge, showSlope, showDescent, showTools, showMistake];
const parts = [showNow, showGraph, drawValues, ...trials, showDrawer, keepAddress];
panels.graph = () => [showFormula, showOrigin, listLeaves, listBoxes].forEach(draw => draw());
panels.boxes = drawGraph;

function showStep(at) {
  const now = told(page.model, at);
  const hidden = hiddenAt(at, now);
  const isComplete = isKnownAt(at, now.state, hidden);
  const lesson = at === page.model.steps.count - 1 ? page.lesson : null;
  const nudge = nudgeAt(now.state, isComplete);
  const isNudged = nudge && isPresenting() && !now.chains.length; // a slide tells of it where the chain rule leaves room
  const moment = {at, ...now, hidden, isComplete, lesson, nudge, isNudged};
  for (const part of parts) part(moment);
}

function begin(hash) {
  page.transport.pause();
  const at = takeAddress(hash);
  show();
  page.transport.goTo(at);
}

$("live").hidden = false;
page.transport = makeTransport({count: () => page.model.steps.count, pace: PACE, show: showStep});
explainWords(name => WORDS[`${name}.means`]);
begin(location.hash);
listenToLinks(begin);
