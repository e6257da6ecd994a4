// The page that steps through a graph: connects its parts, and begins.

import {readAddress} from "./shared/address.js";
import {Stage} from "./shared/cards.js";
import {$} from "./shared/elements.js";
import {explainWords} from "./shared/glossary.js";
import {makeTransport} from "./shared/transport.js";
import {PANELS, makeSwitches, showPanel, writeTranscript} from "./stepping/drawer.js";
import {makeLegend, makeTour, showTour} from "./stepping/meaning.js";
import {PACE, showStep} from "./stepping/moment.js";
import {fold, isPresenting, mostZoom, present, redraw, resize, unfold} from "./stepping/room.js";
import {save, savePng, takeAddress} from "./stepping/sending.js";
import {given, loaded, page, show, undo} from "./stepping/state.js";
import {oneStep, pick, predict, setLeaf, setNudging, showLeaf, turn, typeTurn} from "./stepping/trying.js";
import {MEANING} from "./stepping/words.js";

const listen = (id, action, event = "click") => $(id).addEventListener(event, action);

function makeStage() {
  page.stage = new Stage($("graph"), {
    map: $("map"),
    isDown: () => given.down || $("frame").clientWidth < 500, // on a phone the arrows go down
    onTurn: turn,
    onPick: pick,
    onType: leaf => {
      pick(leaf);
      $("value").focus();
      $("value").select();
    },
    onUnfold: j => fold(boxes => boxes.add(j)),
  });
  page.transport = makeTransport({
    count: () => page.model.steps.count,
    pace: PACE,
    show: at => {
      $("verdict").hidden = true;
      showStep(at);
    },
  });
}

function listenToTools() {
  listen("leaf", () => pick(+$("leaf").value), "change");
  listen("value", () => $("value").value !== "" && setLeaf(page.picked, +$("value").value), "input");
  listen("value", typeTurn, "keydown");
  listen("value", showLeaf, "blur");
  listen("less", () => turn(page.picked, -1));
  listen("more", () => turn(page.picked, 1));
  listen("nudge", () => setNudging(!page.nudging));
  listen("delta", () => setNudging(true), "input");
  listen("rate", () => +$("rate").value > 0 && (page.rate = +$("rate").value), "input");
  listen("oneStep", oneStep);
  listen("undo", undo);
  listen("predict", predict);
}

function listenToMenu() {
  const {stage} = page;
  listen("smaller", () => stage.zoom(1 / 1.2));
  listen("larger", () => stage.zoom(1.2));
  listen("fit", () => stage.fit(mostZoom()));
  listen("unfold", unfold);
  listen("saveSvg", () => save("graph.svg", new Blob([stage.file().text], {type: "image/svg+xml"})));
  listen("savePng", savePng);
  listen("round", () => showTour(0));
  listen("present", () => present(!isPresenting()));
  document.addEventListener("keydown", event => {
    if (event.key === "Escape" && isPresenting()) present(false);
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.matches("input")) {
      event.preventDefault();
      undo();
    }
  });
}

function listenToWindow() {
  addEventListener("beforeprint", () => {
    for (const id of PANELS) $(id).hidden = id !== "transcript";
    writeTranscript(Math.min(page.model.steps.count - 1, 2000));
  });
  addEventListener("afterprint", showPanel);
  let width = $("frame").clientWidth;
  new ResizeObserver(() => {
    if (Math.abs($("frame").clientWidth - width) < 2) return;
    width = $("frame").clientWidth;
    redraw();
  }).observe($("frame"));
  addEventListener("resize", resize);
}

$("live").hidden = false;
if (readAddress().has("embed")) document.body.classList.add("embedded");
makeLegend();
makeSwitches();
makeTour();
explainWords(MEANING);
makeStage();
page.own = loaded(given.graph);
show(page.own, false);
page.transport.goTo(takeAddress());
$("undo").disabled = true;
listenToTools();
listenToMenu();
listenToWindow();
