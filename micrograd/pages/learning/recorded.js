// A recorded run: the frames that plot/history.py kept, and a transport to go through them.
//
// The run contains, for each frame, the scores of the model on a grid, the outputs of its neurons on a
// coarser one, and the weights with their gradients, all packed as bytes. The page draws the frame that
// the slider selects and does not interpolate between frames.

function recorded(run) {
  const bytes = text => Uint8Array.from(atob(text || ""), c => c.charCodeAt(0));
  const shorts = text => {
    const view = new DataView(bytes(text).buffer);
    return Array.from({length: view.byteLength / 2}, (_, i) => view.getInt16(2 * i, true));
  };
  const count = run.steps.length, sizes = run.sizes, planes = run.names.length > 2 ? run.names.length : 1;
  const [columns, rows] = run.grid, scores = new Int8Array(bytes(run.scores).buffer);
  const outputs = run.maps ? new Int8Array(bytes(run.maps).buffer) : null;
  const numbers = run.weights ? {weights: shorts(run.weights), gradients: shorts(run.gradients)} : null;
  const points = run.points.map(([x, y], i) => ({
    x: run.low[0] + x * (run.high[0] - run.low[0]), y: run.low[1] + y * (run.high[1] - run.low[1]),
    label: run.labels[i], test: i >= run.trainingPoints,
  }));
  const legend = () => drawLegend(element("legend"), run.names,
    {hollow: points.length > run.trainingPoints ? "validation" : ""});
  let now = 0, hue = "weights", pointed = null, pressed = null, isAsked = false;

  // The scores of a frame, unpacked, and interpolated before the sigmoid so that the boundary is smooth.
  function scoresOf(frame) {
    const start = frame * columns * rows * planes;
    return Array.from({length: planes}, (_, plane) => refined(
      Float32Array.from({length: columns * rows}, (_, i) => {
        const b = scores[start + i * planes + plane];
        return run.units[frame] * b / (127 - Math.abs(b));
      }), columns, rows));
  }

  // The outputs of a neuron as an image, refined where it is shown large.
  const before = layer => sizes.slice(1, layer).reduce((a, b) => a + b, 0);
  function mapImage(layer, index, isLarge) {
    const [width, height] = run.mapGrid, size = width * height;
    const start = (now * before(sizes.length) + before(layer) + index) * size;
    const own = outputs.subarray(start, start + size);
    if (!isLarge) return picture(width, height, i => ofSign(own[i] / 127));
    const fine = refined(own, width, height);
    return picture(fineOf(width), fineOf(height), i => ofSign(fine[i] / 127));
  }

  // The weights of a neuron and then its bias, or their gradients, in the current frame.
  function numbersOf(kind, layer, index) {
    let start = 0;
    for (let k = 1; k < layer; k++) start += sizes[k] * (sizes[k - 1] + 1);
    const width = sizes[layer - 1] + 1, all = numbers[kind].length / count;
    const scale = run[kind === "weights" ? "weightScales" : "gradientScales"][now] / 32000;
    start += now * all + index * width;
    return numbers[kind].slice(start, start + width).map(n => n * scale);
  }

  const neuronTitle = (layer, index) => layer === 0 ? `input ${INPUTS[index] ?? `x${index + 1}`}`
    : layer === sizes.length - 1 ? `Output ${index + 1}` : `Layer ${layer}, neuron ${index + 1}`;
  const shortly = x => String(Number(x.toPrecision(3))).replace("-", "−");

  function about(known, most) {
    const shown = pointed || pressed;
    if (!known) return "No gradients are known here: the weights have changed since the last backward pass.";
    if (!shown || shown.layer === 0)
      return `Thickest line: ${hue === "weights" ? "weight" : "gradient"} of ±${shortly(most)}. `
        + (outputs ? "Point at a neuron to see its output over the plane." : "");
    const own = numbersOf(hue, shown.layer, shown.index).map(shortly), bias = own.pop(), shownMost = 8;
    return `${neuronTitle(shown.layer, shown.index)}: ${hue} ${own.slice(0, shownMost).join(", ")}`
      + (own.length > shownMost ? ", …" : "")
      + `; ${hue === "weights" ? "bias" : "gradient of the bias"} ${bias}`;
  }

  function drawNetwork() {
    const known = hue === "weights" || run.hasGradients[now];
    // Weights have one scale for the whole run, to show their growth. On one scale, gradients would soon
    // be too small to see.
    const most = hue === "weights" ? Math.max(...run.weightScales) : run.gradientScales[now];
    const own = sizes.slice(1).map((size, layer) =>
      Array.from({length: size}, (_, i) => numbersOf(hue, layer + 1, i)));
    network.draw({
      sizes, called: neuronTitle, hue: hue === "weights" ? "sign" : "gradient",
      height: Math.min(Math.max(170, 60 * Math.max(...sizes) + 34), 560),
      thickness: (layer, i, j) => known ? own[layer - 1][i][j] / most : NaN,
      map: (layer, i) => outputs && layer ? mapImage(layer, i, false) : null,
      below: () => [], chosen: pointed || pressed,
    });
    network.describe(`Network of ${sizes[0]} inputs and layers of ${sizes.slice(1).join(", ")} neurons. `
      + (known ? `The largest of the ${hue} is ${shortly(most)} in size.` : "No gradients are known here."));
    element("about").textContent = about(known, most);
    for (const name of ["weights", "gradients"])
      element(`show-${name}`).setAttribute("aria-pressed", hue === name);
    element("key-lines").textContent = "";
    for (const [text, kind] of hue === "gradients" ? [["━ positive ┅ negative", "gradient"]]
         : [["━ positive", "positive"], ["━ negative", "negative"]]) {
      const key = document.createElement("b");
      key.textContent = text + " ";
      key.className = kind;
      element("key-lines").append(key);
    }
  }

  function drawCurve(id, main, validation, text, top) {
    const lines = [{numbers: main, colour: theme.ink}];
    if (validation) lines.push({numbers: validation, colour: theme.faint, dashed: true});
    drawCurves(element(id), {steps: run.steps, unit: run.unit, lines, now, top, height: 130});
    const said = text(main[now]) + (validation ? ` · validation ${text(validation[now])}` : "");
    element(`${id}-now`).textContent = said;
    element(id).setAttribute("aria-label", `Curve of the ${id}, now ${said}`);
  }

  function draw() {
    const known = run.losses[now] !== null;
    const words = `${run.unit} ${run.steps[now]} of ${run.steps[count - 1]} · loss `
      + `${known ? decimals(run.losses[now]) : "not known"} · accuracy ${percent(run.accuracies[now])}`;
    element("slider").setAttribute("aria-valuetext", words);
    // A screen reader should not announce twelve frames per second.
    element("said").setAttribute("aria-live", transport.isPlaying() ? "off" : "polite");
    element("said").textContent = words;
    element("boundary").setAttribute("aria-label",
      `Map of the ${points.length} points and of the class that the model predicts at each place`);
    const shown = outputs && (pointed || pressed);
    drawPlane(element("boundary"), {
      grid: {columns: fineOf(columns), rows: fineOf(rows), surfaces: scoresOf(now)},
      inside: shown && shown.layer ? mapImage(shown.layer, shown.index, true) : null,
      low: run.low, high: run.high, ratio: Math.max(0.6, Math.min(run.ratio, 2.4)), points,
      truth: run.truth,
    });
    drawCurve("loss", run.losses, run.validationLosses, decimals, 0);
    drawCurve("accuracy", run.accuracies, run.validationAccuracies, percent, 1);
    element("key").hidden = !run.validationLosses && !run.validationAccuracies;
    if (numbers) drawNetwork();
  }
  function ask() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => { isAsked = false; draw(); });
  }

  const network = makeNetwork(element("network"), {
    onNeuron: (layer, index) => {
      const isSame = pressed && pressed.layer === layer && pressed.index === index;
      pressed = isSame ? null : {layer, index};
      ask();
    },
    onPoint: (layer, index) => { pointed = layer === null ? null : {layer, index}; ask(); },
  });
  for (const id of ["training", "data-panel", "details", "arithmetic", "layers", "activation-field", "hint",
                    "figures"]) element(id).remove();
  element("playback").hidden = false;
  element("page").classList.add("recorded");
  element("truth").hidden = !run.truth.length;
  element("key-test").replaceWith("validation points");
  for (const name of ["weights", "gradients"])
    element(`show-${name}`).addEventListener("click", () => { hue = name; ask(); });
  if (!numbers) {
    for (const id of ["inside-head", "network"]) element(id).hidden = true;
    element("inside").hidden = !sizes.length;
    element("about").textContent = sizes.length
      ? `The network of ${sizes[0]} inputs and layers of ${sizes.slice(1).join(", ")} neurons has too many `
        + "weights to draw." : "";
  }
  readTheme(false);
  legend();
  const transport = makeTransport({count: () => count, show: at => { now = at; ask(); }, pace: 80});
  redrawnWhenNeeded(isNow => {
    legend();
    if (isNow === true) draw(); else ask();
  });
  transport.goTo(0);
  draw();
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) transport.play();
  return {now: () => now, count, scoresOf, transport, draw, fine: [fineOf(columns), fineOf(rows)]};
}
