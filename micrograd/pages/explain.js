// The page that steps through a graph: connects its parts, and begins.
//
// A new button is an element in explain.html with an id, its text in micrograd/texts/en.toml (its name for
// screen readers too, if the text is a sign), and a line in listenToMenu below. What it changes is in
// stepping/state.js, which knows no part of the page; what shows the change is one of `parts` or `panels`.

import {listenToLinks} from "./shared/state.js";
import {Stage} from "./shared/cards.js";
import {$, listen} from "./shared/elements.js";
import {WORDS, explainWords} from "./shared/glossary.js";
import {PHONE} from "./shared/pane.js";
import {makeTransport} from "./shared/transport.js";
import {PANELS, makeTabs, showDrawer, writeTranscript} from "./stepping/drawer.js";
import {
  PACE,
  drawAgain,
  drawGraph,
  find,
  heights,
  isPresenting,
  listBoxes,
  mostZoom,
  present,
  resize,
  showGraph,
  turnMember,
  unfold,
  unfoldBox,
} from "./stepping/graph.js";
import {makeLegend, makeTour, showFormula, showOrigin, showTour} from "./stepping/meaning.js";
import {makeMistakes, showMistake} from "./stepping/mistakes.js";
import {showNow} from "./stepping/moment.js";
import {askQuestion, hiddenAt, predict} from "./stepping/predict.js";
import {keepAddress, savePicture, takeAddress} from "./stepping/sending.js";
import {given, page, panels, past, redraw, show, turn} from "./stepping/state.js";
import {listLeaves, listenToTools, nudgeAt, pickLeaf, showDescent, showNudge, showTools} from "./stepping/trying.js";
import {drawValues, showValues} from "./stepping/values.js";
import {told} from "./stepping/words.js";

const parts = [
  showNow,
  showGraph,
  drawValues,
  askQuestion,
  showNudge,
  showDescent,
  showTools,
  showMistake,
  showDrawer,
  keepAddress,
];
panels.graph = () => [showFormula, showOrigin, listLeaves, listBoxes].forEach(draw => draw());
panels.boxes = drawGraph;

function showStep(at) {
  const now = told(page.model, at);
  const moment = {at, ...now, hidden: hiddenAt(at, now), nudge: nudgeAt(at, now.state)};
  for (const part of parts) part(moment);
}

function makeStage() {
  page.stage = new Stage($("graph"), {
    map: $("map"),
    isDown: () => given.down || $("frame").clientWidth < PHONE, // on a phone the arrows go down
    heights,
    onTurn: turn,
    onPick: pickLeaf,
    onType: leaf => {
      pickLeaf(leaf);
      $("value").focus();
      $("value").select();
    },
    onUnfold: unfoldBox,
    onValues: showValues,
  });
  page.transport = makeTransport({count: () => page.model.steps.count, pace: PACE, show: showStep});
}

function begin(hash) {
  page.transport.pause();
  const at = takeAddress(hash);
  show();
  page.transport.goTo(at);
}

function listenToMenu() {
  const {stage} = page;
  listen({
    predict,
    smaller: () => stage.zoom(1 / 1.2),
    larger: () => stage.zoom(1.2),
    fit: () => stage.fit(mostZoom()),
    unfold,
    showLegend: () => $("showLegend").setAttribute("aria-expanded", $("legend").classList.toggle("open")),
    openValues: () => showValues(),
    save: savePicture,
    round: () => showTour(0),
    present: () => present(!isPresenting()),
  });
  $("finding").addEventListener("submit", event => {
    event.preventDefault();
    find();
  });
  const press = event => {
    if (event.key === "Escape" && isPresenting()) present(false);
    const by = {PageUp: -1, PageDown: 1}[event.key]; // on a leaf they turn it
    if (by && !event.defaultPrevented && !event.target.matches("input, select") && turnMember(by))
      event.preventDefault();
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.matches("input")) {
      event.preventDefault();
      past.undo();
    }
  };
  document.addEventListener("keydown", press);
}

function listenToWindow() {
  addEventListener("beforeprint", () => {
    for (const id of PANELS) $(id).hidden = id !== "transcript";
    writeTranscript(Math.min(page.model.steps.count - 1, 2000));
  });
  addEventListener("afterprint", redraw);
  let width = $("frame").clientWidth;
  new ResizeObserver(() => {
    if (Math.abs($("frame").clientWidth - width) < 2) return;
    width = $("frame").clientWidth;
    drawAgain();
  }).observe($("frame"));
  addEventListener("resize", resize);
}

$("live").hidden = false;
explainWords(name => WORDS[`${name}.means`]);
makeLegend();
makeTour();
makeTabs();
makeMistakes();
makeStage();
begin(location.hash);
listenToLinks(begin);
listenToTools();
listenToMenu();
listenToWindow();
