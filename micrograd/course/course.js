// The course: its chapters, one program that grows, and a page to play.

import {makeEditor} from "./editor.js";
import {filesOfPage} from "./files.js";
import {drawing, folded} from "./frames.js";
import {Python} from "./python.js";
import {Results, STAGES, hintOf} from "./results.js";
import {KEY, download, store, stored} from "./storage.js";
import {element, paragraphs, textOf, words} from "./lesson.js";

const CHAPTERS = textOf("names").split(" ");
const BUILT = "built",
  FREE = "free";
const PAGES = [...CHAPTERS, BUILT, FREE];
const MARKS = {
  // what shows that a program has the part of a chapter
  slope: "def slope",
  value: "class Value",
  byhand: "def by_hand",
  order: "def topological_order",
  backward: "def backward",
  neuron: "class Neuron",
  network: "def training_step",
  boundary: "moons(",
};
const SLOW = 10; // seconds until a run is called slow

/** @type {(id: string) => any} */
const at = id => document.getElementById(id);
const state = stored();
const results = new Results(at("printed"), at("shown"), at("verdict"), at("training"));
const pictures = {}; // by chapter, once Python has drawn them
let running = null; // the chapter whose program runs
let program = ""; // what is compared at the moment
let finding = null,
  hints = 0;
let clock = 0;

// ---- Words of the page

for (const place of document.querySelectorAll("[data-text]")) {
  const text = textOf(place.dataset.text);
  if (place.tagName === "BUTTON") place.setAttribute("aria-label", text);
  place.append(text);
}

for (const place of document.querySelectorAll("[data-label]"))
  place.setAttribute("aria-label", textOf(place.dataset.label));

const editor = makeEditor(at("editor"), textOf("editor"), keep, run, () => at("run").focus());

function say(text, look = "") {
  at("status").className = look;
  at("status").textContent = text;
}

// ---- Chapters

function open(chapter) {
  state.chapter = chapter;
  document.body.classList.toggle("free", chapter === FREE);
  const text = chapter === FREE ? state.free || textOf("free.start") : state.text;
  if (text !== editor.text) editor.open(text);
  if (CHAPTERS.includes(chapter) && !begun(chapter)) {
    const start = textOf(`${chapter}.start`),
      first = !text.trim();
    editor.append(first ? `${start}\n` : `\n\n${start}\n`);
    if (!first) editor.showLast(start.trim().split("\n").length - 2);
  }
  keep();
  finding = null;
  results.clear();
  say(missing() || (python.ready ? textOf("ready") : "")); // until then the bar says it
  lesson();
  chapters();
  controls();
}

// Whether the program has the part of a chapter, at least its heading.
function begun(chapter) {
  return editor.text.includes(MARKS[chapter]) || editor.text.includes(headingOf(chapter));
}

const headingOf = chapter => textOf(`${chapter}.start`).match(/^# .*/m)[0];

// The chapters before this one that the program does not have.
function missing() {
  const isOwn = CHAPTERS.includes(state.chapter) && !(state.chapter in MARKS); // a teacher's: by itself
  const before = CHAPTERS.slice(0, isOwn || state.chapter === FREE ? 0 : PAGES.indexOf(state.chapter));
  const names = before.filter(name => name in MARKS && !editor.text.includes(MARKS[name])).map(name => textOf(name));
  return names.length ? textOf("missing", {names: names.join(", ")}) : "";
}

// Keeps the program if it has done the chapters before this one, otherwise gives one that has.
async function startHere() {
  const {chapter} = state,
    before = chapter in MARKS ? CHAPTERS.slice(0, CHAPTERS.indexOf(chapter)) : [];
  state.done = (await answered({survey: editor.text})) || state.done;
  const isOwn = before.every(name => state.done.includes(name));
  if (!isOwn) {
    state.mine = editor.text;
    editor.replace(textOf(`${chapter}.before`));
    keep();
  }
  open(chapter);
  say(textOf(isOwn ? "started.own" : "started"));
}

// Brings back what "Start here" has replaced, also after a reload.
function takeBack() {
  editor.replace(state.mine);
  delete state.mine;
  open(state.chapter);
}

// The part of a chapter in a program: from its heading to the next one.
function partOf(chapter, text) {
  const starts = CHAPTERS.map(name => text.indexOf(headingOf(name))).filter(at => at >= 0);
  const from = text.indexOf(headingOf(chapter));
  return from < 0 ? "" : text.slice(from, Math.min(...starts.filter(at => at > from), text.length));
}

// Backward and Neuron are written into the class of chapter 2: it goes back with them.
function reset() {
  const {chapter} = state,
    fresh = `${textOf(`${chapter}.before`)}\n\n${textOf(`${chapter}.start`)}\n`;
  const parts = ["backward", "neuron"].includes(chapter) ? ["value", chapter] : [chapter];
  let {text} = editor;
  for (const part of parts) {
    const old = partOf(part, text),
      [gap] = old.match(/\s*$/);
    if (old) text = text.replace(old, () => partOf(part, fresh).trimEnd() + gap);
  }
  editor.replace(text);
  state.done = state.done.filter(name => name !== chapter);
  open(chapter);
  say(textOf("reset.done"));
}

function lesson() {
  const {chapter} = state;
  const count = !CHAPTERS.includes(chapter) ? "" : `${CHAPTERS.indexOf(chapter) + 1}. `;
  at("heading").textContent = count + textOf(`${chapter}.title`);
  at("text").replaceChildren(...paragraphs(textOf(`${chapter}.text`)));
  at("task").replaceChildren(...words(textOf(`${chapter}.task`)));
  const drawn = chapter === "slope" ? [{svg: textOf("slope.svg"), key: "slope.tangent"}] : [];
  at("pictures").replaceChildren(
    ...[...drawn, ...(pictures[chapter] || [])].map(({key, ...shown}) =>
      shown.svg
        ? element(
            "figure",
            {},
            drawing(shown.svg, textOf(key)),
            element("figcaption", {class: "faint"}, ...words(textOf(key))),
          )
        : folded(shown, textOf(key)),
    ),
  );
}

function chapters() {
  const {chapter} = state;
  at("chapters").replaceChildren(
    ...PAGES.map((name, i) => {
      const button = element("button", name === chapter ? {"aria-current": "page"} : {});
      const done = state.done.includes(name);
      button.append(!CHAPTERS.includes(name) ? textOf(name) : `${done ? "✓" : i + 1} ${textOf(name)}`);
      button.disabled = running !== null;
      button.addEventListener("click", () => open(name));
      return element("li", {}, button);
    }),
  );
  const current = at("chapters").querySelector("[aria-current]");
  at("chapters").scrollLeft = current.offsetLeft - (at("chapters").clientWidth - current.clientWidth) / 2;
}

async function draw() {
  const {chapter} = state;
  if (!python.ready || running || python.waiting || chapter in pictures) return;
  const drawn = await python.ask({pictures: chapter});
  if (!drawn) return;
  pictures[chapter] = drawn;
  if (state.chapter === chapter) lesson();
  else draw();
}

function controls() {
  const {chapter} = state,
    done = state.done.includes(chapter);
  at("run").disabled = !python.ready || running !== null;
  at("stop").disabled = running === null;
  at("start").disabled = at("reset").disabled = !python.ready || running !== null || !CHAPTERS.includes(chapter);
  at("mine").hidden = !state.mine || chapter === FREE;
  at("solution").hidden = !finding || hints < STAGES.length || !textOf(`${chapter}.solution`);
  at("hint").disabled = !finding || hints === STAGES.length;
  at("export").disabled = running !== null;
  at("import").disabled = !python.ready || running !== null;
  at("next").disabled = running !== null || chapter === FREE;
  at("run").classList.toggle("main", !(done && !finding));
  at("next").classList.toggle("main", done && !finding && chapter !== FREE);
  draw();
}

// ---- Running

async function run() {
  if (!python.ready || running) return;
  keep();
  const {chapter} = state;
  const request = {chapter, text: editor.text};
  if (chapter === FREE) request.engine = state.text;
  const result = await answered(request);
  if (result) judge(chapter, result);
  controls();
  chapters();
}

// Python's answer to a request that runs a program; null if it was stopped.
async function answered(request) {
  running = state.chapter;
  program = "";
  finding = null;
  results.clear();
  editor.mark(0);
  say(textOf("running"));
  controls();
  chapters();
  const begun = performance.now();
  clock = setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    if (seconds >= SLOW) say(textOf("slow", {seconds}));
  }, 1000);
  if (python.waiting) await python.waiting.promise; // it draws the pictures of the chapter
  const result = running && (await python.ask(request));
  clearInterval(clock);
  running = null;
  return result;
}

function judge(chapter, result) {
  say(textOf("ran"));
  if (result.error) {
    const lacking = result.error.kind === "NameError" && missing();
    say(lacking || textOf("failed"), "bad");
    editor.mark(result.error.line);
    results.error(result.error, lacking);
    if (result.error.kind === "MemoryError") again(textOf("memory"));
  } else if (result.finding) {
    finding = result.finding;
    hints = 0;
    say(textOf("differs"), "bad");
    state.done = state.done.filter(name => name !== chapter);
    results.finding(finding);
  } else if (CHAPTERS.includes(chapter)) {
    if (!state.done.includes(chapter)) state.done.push(chapter);
    say(textOf("agrees"));
    const last = chapter === "boundary";
    results.tell("good", element("h3", {}, textOf(last ? "right.last" : "right")));
  }
  at("printed").scrollTop = at("printed").scrollHeight;
  at(at("verdict").hidden ? "shown" : "verdict").scrollIntoView({block: "nearest"});
  keep();
}

function again(text) {
  running = null;
  say(text, "bad");
  python.restart();
  progress(0);
}

function stop() {
  if (!running) return;
  again(textOf("stopped"));
  if (program) {
    results.tell(
      "bad",
      element("h3", {}, textOf("stopped.checking")),
      element("pre", {class: "code"}, program.split("; ").join("\n")),
    );
  }
}

function progress(part) {
  at("progress").hidden = part >= 1;
  at("bar").value = part;
}

const hear = {
  progress,
  ready() {
    progress(1);
    if (at("status").className !== "bad") say(missing() || textOf("ready"));
    controls();
  },
  stage({checking}) {
    if (checking) {
      if (!program) say(textOf("checking"));
      program = checking;
    }
  },
  printed: content => results.print(content),
  shown: content => results.show(content),
  trained: losses => results.train(losses),
  ended(text) {
    if (python.ready) again(textOf("ended", {text}));
    else say(textOf("broken", {text}), "bad");
  },
};

// ---- Hints, files, storage

function hint() {
  const stage = STAGES[hints];
  hints += 1;
  if (stage === "where") editor.mark(finding.line);
  controls(); // first: another button may move what is below
  results.hint(stage, hintOf(finding, stage));
}

function keep() {
  if (state.chapter === FREE) state.free = editor.text;
  else state.text = editor.text;
  at("stored").textContent = textOf(store(state) ? "stored" : "not-stored");
}

async function importFile(file) {
  if (!file) return;
  const text = file.size <= 1e6 ? await file.text() : "\0";
  if (text.includes("\0")) {
    say(textOf("too-large", {name: file.name}), "bad");
    return;
  }
  const [, program, chapter] = text.replace(/\r\n?/g, "\n").match(EXPORTED);
  editor.replace(program);
  if (state.chapter !== FREE) await carryOn(PAGES[chapter - 1]);
  say(textOf("imported", {name: file.name}));
}

// An export ends with the chapter that is open. Which ones are done, the program itself shows.
const EXPORTED = /^(.*?)(?:# micrograd course: chapter (\d+) is open\n*)?$/s;
const progressLine = () => `# micrograd course: chapter ${PAGES.indexOf(state.chapter) + 1} is open\n`;

// Goes to the chapter of an export, or to the one after the last that the program has done.
async function carryOn(chapter) {
  keep();
  state.done = (await answered({survey: editor.text})) || [];
  const last = CHAPTERS.findLastIndex(name => state.done.includes(name));
  open(chapter || (last < 0 ? state.chapter : CHAPTERS[Math.min(last + 1, CHAPTERS.length - 1)]));
}

at("run").addEventListener("click", run);
at("stop").addEventListener("click", stop);
at("hint").addEventListener("click", hint);
at("solution").addEventListener("click", () => {
  at("solution").hidden = true;
  results.solution(atob(textOf(`${state.chapter}.solution`)));
});
at("start").addEventListener("click", startHere);
at("mine").addEventListener("click", takeBack);
at("reset").addEventListener("click", reset);
at("export").addEventListener("click", () => {
  if (state.chapter === FREE) download("program.py", editor.text);
  else download("my_engine.py", editor.text.replace(/\n?$/, `\n${progressLine()}`));
});
at("import").addEventListener("click", () => at("file").click());
at("file").addEventListener("change", ({target}) => {
  importFile(target.files[0]);
  target.value = "";
});
at("next").addEventListener("click", () => {
  open(PAGES[PAGES.indexOf(state.chapter) + 1]);
  at("heading").focus();
});
window.addEventListener("storage", ({key, newValue}) => {
  if (key === KEY && newValue && JSON.parse(newValue).text !== state.text) say(textOf("elsewhere"), "bad");
});

const python = new Python(filesOfPage(), at("worker").textContent, (kind, content) => hear[kind](content));
open(state.chapter);
