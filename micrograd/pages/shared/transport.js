// Buttons, slider, speeds and keys, the same on all pages. The left and right arrows, Home and End, and
// space work wherever the focus is, except in text fields.

import {$, listen} from "./elements.js";
import {listenToKeys} from "./keys.js";
import {filled} from "./texts.js";

const PLAY = "M4 2v14l11-7z";
const PAUSE = "M4 2h3.5v14H4zM10.5 2H14v14h-3.5z";

// Connects the elements of transport.html.
//   count()   the number of steps
//   show(at)  draws a step
//   pace      milliseconds for a step at speed 1
export function makeTransport({count, show, pace}) {
  let at = 0,
    timer = 0;
  const last = () => count() - 1;

  function goTo(step) {
    at = Math.max(0, Math.min(Math.round(step), last()));
    $("slider").max = last();
    $("slider").value = at;
    $("count").textContent = filled("{{steps.count}}", {at, last: last()});
    $("back").disabled = $("first").disabled = at === 0;
    $("forward").disabled = $("last").disabled = at === last();
    show(at);
  }
  function showPlaying(isPlaying) {
    $("play").ariaLabel = isPlaying ? "{{button.pause}}" : "{{button.play}}";
    $("play").querySelector("path").attributes.d.value = isPlaying ? PAUSE : PLAY;
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    showPlaying(false);
  }
  function play() {
    if (timer) return pause();
    if (at === last()) goTo(0);
    showPlaying(true);
    timer = setInterval(() => {
      goTo(at + 1);
      if (at === last()) pause();
    }, pace / +$("speed").value);
  }
  const move = step => {
    pause();
    goTo(step);
  };
  const by = steps => () => move(at + steps);
  const actions = {first: by(-Infinity), back: by(-1), forward: by(1), last: by(Infinity), play};
  listen(actions);
  listen({slider: () => move(+$("slider").value)}, "input");
  $("speed").addEventListener("change", () => {
    if (!timer) return;
    pause();
    play();
  });
  const {first, back, forward} = actions;
  listenToKeys({ArrowLeft: back, ArrowRight: forward, Home: first, End: actions.last, " ": play});

  return {goTo, move, pause, play, at: () => at, isPlaying: () => timer !== 0};
}
