// What one can send: the state of the page in its address, and the picture as a file.
// (The state of the page and its model are those of explain.js.)

// The state in the address, so that it can be sent: #step=7&v1=2.5&mistake=order
let pending = 0;
function keepAddress(at) {
  clearTimeout(pending);
  pending = setTimeout(() => {
    const state = new URLSearchParams();
    if (document.body.classList.contains("embedded")) state.set("embed", "");
    if (model !== own) state.set("example", "");
    state.set("step", at);
    for (const [i, x] of model.numbers)
      if (!Object.is(x, model.initial.get(i)) && state.size < 60) state.set(`v${i}`, x);
    if (mistake) state.set("mistake", mistake);
    if (mistake === "local") state.set("of", victim);
    if (rate !== page.learningRate) state.set("rate", rate);
    if (nudging) {
      state.set("nudge", $("delta").value);
      state.set("leaf", picked);
    }
    const usual = model.levels.opened(page.level, MOST_CARDS);
    if (open.size !== usual.size || [...open].some(j => !usual.has(j)))
      state.set("open", [...open].join("."));
    try {
      history.replaceState(null, "", `#${String(state).replace(/=(?=&|$)/g, "")}`);
    } catch {/* a frame without an address */}
  }, 200);
}

function readAddress() {
  const state = new URLSearchParams(location.hash.slice(1));
  if (state.has("example")) show(loaded(page.example), false);
  for (const [key, text] of state) {
    const i = /^v(\d+)$/.test(key) ? +key.slice(1) : -1;
    if (model.initial.has(i) && !model.fixed[i] && Number.isFinite(+text)) model.numbers.set(i, +text);
  }
  if (+state.get("rate") > 0) rate = +state.get("rate");
  $("rate").value = rate;
  if (state.has("open"))
    open = new Set(
      state
        .get("open")
        .split(".")
        .filter(Boolean)
        .map(Number)
        .filter(j => model.boxes[j]),
    );
  if (model.levels.count(open) > 300) open = model.levels.opened(page.level, MOST_CARDS);
  if (state.has("leaf") && model.leaves.includes(+state.get("leaf"))) picked = +state.get("leaf");
  if (state.has("nudge")) {
    nudging = true;
    $("delta").value = state.get("nudge");
  }
  if (picked >= 0) choose(picked);
  begun();
  if (Object.hasOwn(MISTAKES, state.get("mistake"))) {
    mistake = state.get("mistake");
    victim = model.graph.nodes[state.get("of")] ? +state.get("of") : defaultVictim();
    recompute(false);
  }
  return +state.get("step") || 0;
}

function save(name, blob) {
  const link = made("a", "", {download: name, href: URL.createObjectURL(blob)});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

function savePng() {
  const {text, width, height} = stage.file(),
    image = new Image();
  image.onload = () => {
    const scale = Math.min(2, 8000 / Math.max(width, height)),
      canvas = made("canvas");
    [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save("graph.png", blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
