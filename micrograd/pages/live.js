// Live training: the state of the page, what the controls do with it, and what is drawn of it.

const RATES = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 3, 10];
const PENALTIES = [0, 0.0001, 0.001, 0.01, 0.03, 0.1, 0.3];
const ALL = 1e9;          // a batch of all points
const MOST_NEURONS = 8, MOST_LAYERS = 5, MOST_POINTS = 400, MOST_UNDONE = 100;

function live(data) {
  const own = data.model, isFixed = !!(own && own.piece), classes = data.names.length;
  const outputs = own ? (isFixed ? own.piece.outputs.length : own.sizes[own.sizes.length - 1]) : 1;
  const given = data.optimizer || {};
  const settings = {
    data: data.examples ? "yours" : "moons", size: 100, noise: 0.1, share: data.examples ? 0 : 0.2, sample: 1,
    seed: 11, rate: given.rate ?? 0.3, batch: ALL, optimizer: given.name || "SGD", decay: given.decay ?? 0,
    loss: data.losses[0].name,
  };
  const fixed = {momentum: given.momentum || 0.9, betas: given.betas || [0.9, 0.999], eps: given.eps ?? 1e-8};
  let sizes = own ? own.sizes : [2, 8, 8, 1];
  let activations = own ? own.activations : ["tanh", "tanh", "linear"];
  let examples = [], view = null, byHand = false;
  let model, program, training, curves, loss;
  let chosen = {}, pointed = null, hue = "weights", graphs = new Map(), undone = [], timer = 0, lastStep = 0;
  let isAsked = false, trouble = "";

  // ---- The parts of the state

  const lossOf = name => data.losses.find(l => l.name === name);
  const trained = () => examples.filter(e => !e.test), tested = () => examples.filter(e => e.test);
  const settingsOfStep = () => ({...settings, ...fixed});
  const hidden = () => sizes.slice(1, -1);

  // Functions for the present network and loss; `weights` where training goes on.
  function assemble(weights) {
    loss = lossOf(settings.loss);
    model = isFixed ? whole(own.piece) : perceptron(sizes, activations, data.pieces);
    program = flattened(model, loss.classes);
    graphs = new Map();
    const before = training && training.kept();
    training = new Training(program, weights, outputs);
    training.random.state = settings.seed;
    if (before) training.steps = before.steps;
  }

  // Weights as Python draws them: uniform in [-1, 1), biases 0.
  function drawnWeights() {
    const random = new Random(settings.seed), weights = [];
    sizes.slice(1).forEach((size, layer) => {
      for (let i = 0; i < size; i++) {
        for (let j = 0; j < sizes[layer]; j++) weights.push(random.uniform(-1, 1));
        weights.push(0);
      }
    });
    return weights;
  }

  function startAgain(weights) {
    training = null;
    assemble(weights);
    curves = {steps: [], loss: [], testLoss: [], accuracy: [], testAccuracy: []};
    trouble = "";
    note();
  }

  // Adds the present to the curves; of long curves every other number is dropped.
  function note() {
    const [seen, unseen] = [trained(), tested()].map(list => training.judged(list, loss.threshold));
    const lists = {steps: training.steps, loss: seen.loss, testLoss: unseen.loss, accuracy: seen.accuracy,
                   testAccuracy: unseen.accuracy};
    const last = curves.steps.length - 1;
    if (curves.steps[last] === training.steps) for (const list of Object.values(curves)) list.pop();
    for (const [name, number] of Object.entries(lists)) curves[name].push(number);
    if (curves.steps.length > 800)
      for (const name of Object.keys(curves)) curves[name] = curves[name].filter((_, i) => i % 2 === 0);
  }

  function freshExamples() {
    byHand = false;
    if (settings.data === "yours") {
      const points = data.examples.map(([x, y, label]) => ({x, y, label}));
      const tests = Math.round(settings.share * points.length);
      // Rounded points would train to other numbers than in Python.
      examples = points.map((e, i) => ({...e, test: i < tests}));
    } else {
      examples = samples({...settings, shape: settings.data, seed: settings.sample, classes});
    }
    look();
  }
  function look() { view = aroundPoints(examples, ratio()); }
  const ratio = () => element("page").clientWidth < 680 ? 1.6 : 1.3;

  // ---- Undo

  function kept() {
    return {settings: {...settings}, sizes, activations, examples, view, byHand, training: training.kept(),
            curves: Object.fromEntries(Object.entries(curves).map(([k, v]) => [k, v.slice()]))};
  }
  function remember() {
    undone.push(kept());
    element("undo").disabled = false;
    if (undone.length > MOST_UNDONE) undone.shift();
  }
  function undo() {
    pause();
    const back = undone.pop();
    if (!back) return;
    Object.assign(settings, back.settings);
    ({sizes, activations, examples, view, byHand, curves} = back);
    trouble = "";
    assemble(back.training.p);
    training.restore(back.training);
    choose(stillThere(chosen));
    showControls();
  }
  // What was chosen, without what is gone.
  function stillThere({point, neuron, weight, ...rest}) {
    const isNeuron = n => n && n.layer < sizes.length && n.index < sizes[n.layer];
    return {
      ...rest,
      ...(examples[point] && {point}),
      ...(!isFixed && isNeuron(neuron) && {neuron}),
      ...(weight && (isFixed || isNeuron(weight) && weight.input <= sizes[weight.layer - 1]) && {weight}),
    };
  }

  // ---- Training

  function step(count = 1) {
    const until = performance.now() + 25;
    for (let i = 0; i < count && performance.now() < until; i++) training.step(trained(), settingsOfStep());
    note();
    const last = curves.loss[curves.loss.length - 1];
    if (last !== null && !Number.isFinite(last)) {
      pause();
      trouble = "The loss is no longer a number: the learning rate is too large. Undo, or Reset.";
    }
  }
  function frame(time) {
    if (!timer) return;
    const pace = +element("pace").value;
    if (pace || time - lastStep > 500) {
      lastStep = time;
      step(pace || 1);
      draw();
    }
    if (timer) timer = requestAnimationFrame(frame);
  }
  function train() {
    if (timer) return pause();
    if (!trained().length) {
      trouble = "There are no points to train on: click the plane to add some.";
      return ask();
    }
    remember();
    trouble = "";
    timer = requestAnimationFrame(frame);
    showTrain();
  }
  function pause() {
    if (!timer) return;
    cancelAnimationFrame(timer);
    timer = 0;
    showTrain();
    ask();
  }
  function showTrain() {
    element("train").textContent = timer ? "❚❚ Pause" : "▶ Train";
    element("train").setAttribute("aria-pressed", !!timer);
    element("said").setAttribute("aria-live", timer ? "off" : "polite");
  }
  function oneStep() {
    pause();
    if (!trained().length) return train();
    remember();
    step();
    ask();
  }

  // ---- Changes of network, data and settings; each can be undone

  function change(what) {
    remember();
    what();
    note();
    choose(stillThere(chosen));
    showControls();
  }

  // The weights as rows, for each layer and neuron: those of its inputs, then the bias.
  const rowsOf = (p) => model.layers.map(layer =>
    layer.map(({first, weights}) => [...p.slice(first, first + weights.length + 1)]));

  function resize(layer, by) {
    change(() => {
      const rows = rowsOf(training.p), random = new Random(settings.seed + training.steps + sizes[layer]);
      if (by > 0) {
        // The next layer ignores the new neuron at first, so the boundary stays as it is.
        rows[layer - 1].push([...Array.from({length: sizes[layer - 1]}, () => random.uniform(-1, 1)), 0]);
        for (const row of rows[layer]) row.splice(row.length - 1, 0, 0);
      } else {
        rows[layer - 1].pop();
        for (const row of rows[layer]) row.splice(row.length - 2, 1);
      }
      sizes = sizes.map((size, k) => size + (k === layer ? by : 0));
      assemble(rows.flat(2));
    });
  }
  function relayer(by) {
    change(() => {
      const size = hidden().length ? hidden()[hidden().length - 1] : 4;
      const activation = activations.length > 1 ? activations[activations.length - 2] : "tanh";
      const [inner, bends] = [hidden(), activations.slice(0, -1)];
      if (by > 0) { inner.push(size); bends.push(activation); } else { inner.pop(); bends.pop(); }
      sizes = [2, ...inner, sizes[sizes.length - 1]];
      activations = [...bends, activations[activations.length - 1]];
      startAgain(drawnWeights());
    });
  }
  function setting(name, value, again = () => {}) {
    if (settings[name] === value) return;
    change(() => { settings[name] = value; again(); });
  }
  function setWeight(place, number) {
    change(() => { training.p[place] = number; });
  }
  function setExamples(list, point = chosen.point) {
    change(() => { examples = list; byHand = true; chosen = {...chosen, point}; });
  }
  function reset() {
    pause();
    change(() => startAgain(isFixed ? own.weights : drawnWeights()));
  }

  // ---- One point in the network

  // The graph of a point with its loss, all data and all gradients.
  function flow(index) {
    const {x, y, label} = examples[index];
    if (!graphs.has(label)) {
      const joined = withLoss(model, loss.classes[label]);
      graphs.set(label, {...joined, graph: new Graph(joined.graph)});
    }
    const {graph, inputs, parameters} = graphs.get(label), leaves = new Map(graph.leaves);
    [x, y].forEach((number, k) => leaves.set(inputs[k], number));
    parameters.forEach((node, k) => leaves.set(node, training.p[k]));
    const d = graph.forward(leaves), g = graph.backward(d);
    return {graph, d, g};
  }

  // ---- Names

  const neuronName = (layer, index) => layer === 0 ? INPUTS[index] : `L${layer}.n${index}`;
  const neuronTitle = (layer, index) => layer === 0 ? `input ${INPUTS[index]}`
    : layer === sizes.length - 1 ? `${neuronName(layer, index)}, score`
    : `${neuronName(layer, index)}, ${activations[layer - 1]}`;
  const weightName = ({layer, index, input}) =>
    `${neuronName(layer, index)}.${input === sizes[layer - 1] ? "b" : `w${input}`}`;
  const placeOf = ({layer, index, input}) => model.layers[layer - 1][index].first + input;
  const closing = () => button("×", () => choose({}), "Close the details");

  // ---- Details

  function detail() {
    const place = element("details"), focus = document.activeElement;
    const held = place.contains(focus) ? focus.getAttribute("aria-label") : null;
    const {kind} = chosen;
    let parts;
    if (kind === "table" && timer && ++frames % 10) return;
    if (kind === "weight") parts = weightDetail();
    else if (kind === "table") parts = tableDetail();
    else if (chosen.point !== undefined) parts = pointDetail();
    else if (place.dataset.shown === String(training.p.length)) return;
    else parts = introduced();
    place.dataset.shown = chosen.kind ? "" : training.p.length;
    if (held && focus.matches("input, select") && timer) return;  // somebody types
    place.replaceChildren(...parts);
    explainWords(place);
    if (held) [...place.querySelectorAll("[aria-label]")].find(e => e.ariaLabel === held)?.focus();
  }

  const introduced = () => introduction(training.p.length, () => choose({...chosen, kind: "table", table: true}));

  function tableDetail() {
    const k = settingsOfStep(), here = trained(), top = document.querySelector("#details .scroll")?.scrollTop;
    if (!here.length) return introduced();
    requestAnimationFrame(() => { document.querySelector("#details .scroll")?.scrollTo(0, top ?? 0); });
    training.backward(here);
    const rows = model.parameters.map((node, i) => {
      const weight = ofParameter(node);
      return {name: isFixed ? own.called[i] : weightName(weight), figures: training.nextOf(i, k),
              onPick: () => choose({...chosen, kind: "weight", weight})};
    });
    return tablePanel({rows, optimizer: settings.optimizer, onClose: closing()});
  }

  function weightDetail() {
    const {weight} = chosen, place = isFixed ? weight.place : placeOf(weight), here = trained();
    if (!here.length) return introduced();
    const k = settingsOfStep(), figures = training.figures(place, here, k), before = training.p[place];
    const size = 0.01, at = training.judged(here, loss.threshold).loss;
    training.p[place] = before + size;
    const actual = training.judged(here, loss.threshold).loss - at;
    training.p[place] = before;
    const isBias = !isFixed && weight.input === sizes[weight.layer - 1];
    return weightPanel({
      name: isFixed ? own.called[place] : weightName(weight),
      from: isFixed ? "a parameter" : isBias ? `the bias of ${neuronName(weight.layer, weight.index)}`
        : neuronName(weight.layer - 1, weight.input),
      to: isFixed || isBias ? "" : neuronName(weight.layer, weight.index),
      figures, optimizer: settings.optimizer, settings: k,
      nudge: {size, predicted: size * figures.g, actual},
      onSet: number => setWeight(place, number), onClose: closing(),
    });
  }

  function pointDetail() {
    const {point} = chosen, {x, y, label, test} = examples[point];
    const own = training.program.measure(training.p, x, y, label, training.scores);
    const replaced = change => setExamples(examples.map((e, i) => i === point ? {...e, ...change} : e));
    const parts = pointPanel({
      at: [x, y], label, names: data.names, test, scores: [...training.scores], loss: own,
      guess: predicted(training.scores, loss.threshold),
      onMove: (x, y) => replaced({x, y}), onLabel: k => replaced({label: k}),
      onDelete: deletePoint, onClose: closing(),
    });
    return isFixed ? parts.slice(0, 3) : parts;
  }

  // The neuron that was pressed, or a model that is not an MLP, with its operations for a point.
  function drawOpened() {
    const isNeuron = chosen.neuron && chosen.neuron.layer > 0 && examples.length;
    const isModel = isFixed && chosen.point !== undefined && model.graph.nodes.length < 200;
    element("arithmetic").hidden = !isNeuron && !isModel;
    if (!isNeuron && !isModel) return;
    const point = chosen.point ?? 0, whole = flow(point), {x, y} = examples[point];
    const names = new Map(), kinds = new Map();
    let nodes, title;
    if (isNeuron) {
      const {layer, index} = chosen.neuron, neuron = model.layers[layer - 1][index];
      nodes = [...neuron.inputs, ...range(neuron.begin, neuron.end)];
      neuron.inputs.forEach((node, k) => names.set(node, neuronName(layer - 1, k)));
      neuron.weights.forEach((node, k) => names.set(node, `w${k}`));
      names.set(neuron.bias, "b").set(neuron.output, neuronName(layer, index));
      title = neuronTitle(layer, index);
      for (const node of neuron.inputs) kinds.set(node, "input");
    } else {
      nodes = range(0, whole.graph.nodes.length);
      model.inputs.forEach((node, k) => names.set(node, INPUTS[k]));
      model.parameters.forEach((node, k) => names.set(node, own.called[k]));
      names.set(whole.graph.root, "loss");
      title = "The whole model";
      for (const node of model.inputs) kinds.set(node, "input");
    }
    for (const node of model.parameters) kinds.set(node, "parameter");
    const told = opened.show({
      again: [sizes, activations, settings.loss, title, examples[point].label].join(), whole, nodes,
      rest: !!isNeuron, named: node => names.get(node), kindOf: node => kinds.get(node), at: chosen.at ?? 0,
    });
    chosen.at = told.at;
    element("opened-name").textContent = title;
    element("opened-about").textContent = `for the point (${number(x)}, ${number(y)})`;
    element("opened-count").textContent = `${told.at} of ${told.count - 1}`;
    element("opened-back").disabled = told.at === 0;
    element("opened-forward").disabled = element("opened-all").disabled = told.at === told.count - 1;
    const phases = {forward: "Forward", seed: "Backward", backward: "Backward"};
    element("opened-phase").textContent = phases[told.phase] ?? "";
    element("opened-phase").className = told.phase === "forward" ? "" : "gradient";
    element("opened-said").setAttribute("aria-live", timer ? "off" : "polite");
    element("opened-said").replaceChildren(...told.said.map(([text, kind]) =>
      kind ? strong(text, kind === "strong" ? "" : kind) : text));
  }
  const range = (begin, end) => Array.from({length: end - begin}, (_, k) => begin + k);
  function stepOpened(by) {
    chosen.at = Math.max(0, (chosen.at ?? 0) + by);
    ask();
  }
  function ofParameter(node) {
    const place = model.parameters.indexOf(node);
    if (isFixed) return {place};
    for (const [k, layer] of model.layers.entries())
      for (const [index, {first, weights}] of layer.entries())
        if (place >= first && place <= first + weights.length)
          return {layer: k + 1, index, input: place - first};
    return null;
  }

  function choose(what) {
    chosen = what;
    if (!what[what.kind] && what[what.kind] !== 0)
      chosen = {...what, kind: what.point === undefined ? undefined : "point"};
    ask();
  }

  // ---- Drawing

  function ask() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => { isAsked = false; draw(); });
  }

  const COLUMNS = 54, FEW = 16;
  let geometry = null, maps = [], frames = 0;

  function draw() {
    const share = ratio(), rows = Math.round(COLUMNS / share), few = Math.round(FEW / share);
    if (Math.abs((view.high[0] - view.low[0]) / (view.high[1] - view.low[1]) - share) > 1e-6) look();
    const neurons = isFixed ? outputs : sizes.slice(1).reduce((a, b) => a + b);
    const surfaces = outputsOver(view, COLUMNS, rows, program, training.p, neurons);
    const scores = surfaces.slice(-outputs);
    if (outputs === 1 && loss.threshold) scores[0] = scores[0].map(z => z - loss.threshold);
    // While it trains, the small maps need not follow every frame.
    if (!isFixed && (!timer || ++frames % 3 === 0 || maps.length !== sizes.length))
      maps = mapsOf(outputsOver(view, FEW, few, program, training.p, neurons), few);
    const looked = pointed && maps[pointed.layer]?.[pointed.index];
    geometry = drawPlane(element("boundary"), {
      grid: {columns: COLUMNS, rows, surfaces: scores}, ...view, ratio: share, points: examples,
      inside: looked ? inside(surfaces, rows) : null, chosen: chosen.point,
    });
    drawBothCurves();
    if (isFixed) drawTable(); else drawNetwork();
    say();
    detail();
    drawOpened();
    if (!timer) keepAddress();
  }

  function mapsOf(outputs, rows) {
    const inputs = INPUTS.map((_, axis) => mapOf(
      Float32Array.from({length: FEW * rows}, (_, i) => {
        const at = axis ? Math.floor(i / FEW) / (rows - 1) : i % FEW / (FEW - 1);
        return Math.tanh(view.low[axis] + at * (view.high[axis] - view.low[axis]));
      }), FEW, rows, "input"));
    let k = 0;
    return [inputs, ...sizes.slice(1).map((size, layer) =>
      Array.from({length: size}, () => mapOf(outputs[k++], FEW, rows, activations[layer])))];
  }

  // What the neuron under the pointer sees, large.
  function inside(surfaces, rows) {
    const {layer, index} = pointed;
    if (layer === 0) return maps[0][index];
    const before = sizes.slice(1, layer).reduce((a, b) => a + b, 0);
    return mapOf(surfaces[before + index], COLUMNS, rows, activations[layer - 1]);
  }

  function drawBothCurves() {
    const now = curves.steps.length - 1, hasTests = tested().length > 0, {steps} = curves;
    const height = 112;
    for (const [id, main, test, top] of [["loss", "loss", "testLoss", 0],
                                         ["accuracy", "accuracy", "testAccuracy", 1]]) {
      const lines = [{numbers: curves[main], colour: theme.ink}];
      if (hasTests) lines.push({numbers: curves[test], colour: theme.faint, dashed: true});
      drawCurves(element(id), {steps, lines, now, top, height});
      const text = top ? percent : decimals;
      const said = text(curves[main][now]) + (hasTests ? ` · test ${text(curves[test][now])}` : "");
      element(`${id}-now`).textContent = said;
      element(id).setAttribute("aria-label", `Curve of the ${id}, now ${said}`);
    }
    element("key").hidden = !hasTests;
  }

  function drawNetwork() {
    const seen = chosen.point === undefined ? null : flow(chosen.point), p = training.p;
    if (hue === "gradients") training.backward(trained());
    const numbers = hue === "gradients" ? training.G : p;
    const largest = numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-300);
    const most = hue === "gradients" ? largest : Math.max(3, 0.8 * largest);
    const room = element("page").clientWidth < 1100 ? 380 : Math.min(620, innerHeight - 484);
    const height = Math.max(320, room);
    network.draw({
      sizes, called: neuronTitle, hue: hue === "gradients" ? "gradient" : "sign", height,
      thickness: (layer, i, j) => numbers[model.layers[layer - 1][i].first + j] / most,
      map: (layer, i) => maps[layer][i],
      below: (layer, i) => {
        if (!seen) return [];
        const node = layer ? model.layers[layer - 1][i].output : model.inputs[i];
        const short = x => number(+x.toPrecision(2));
        const parts = [{text: short(seen.d[node]), kind: "output"}];
        if (layer) parts.push({text: short(seen.g[node]), kind: "gradient"});
        return parts;
      },
      chosen: chosen.kind === "weight" ? chosen.weight : chosen.kind === "neuron" ? chosen.neuron : null,
    });
    network.describe(`Network of 2 inputs and layers of ${sizes.slice(1).join(", ")} neurons, `
      + `${p.length} parameters. Lines show ${hue}.`);
    element("about").textContent = hue === "gradients"
      ? `Thickest line: a gradient of ±${number(most)}, over all training points; dashed: negative.`
      : "Each neuron shows where its output is + or −.";
  }

  // The parameters of a model that is not an MLP.
  function drawTable() {
    training.backward(trained());
    const rows = own.called.map((name, i) => {
      const row = make("tr", chosen.kind === "weight" && chosen.weight.place === i ? "chosen" : "");
      const opening = button(name, () => choose({...chosen, kind: "weight", weight: {place: i}}));
      row.append(make("td", "", opening), make("td", "number", number(training.p[i])),
                 make("td", "number gradient", number(training.G[i])));
      return row;
    });
    const head = make("tr", "", ...["parameter", "data", "gradient"].map(text => make("th", "", text)));
    const focus = document.activeElement?.textContent;
    const held = element("network").contains(document.activeElement);
    element("network").replaceChildren(
      make("p", "", "This model is not an MLP: the page trains it, but neurons cannot be added or removed."),
      make("table", "", head, ...rows));
    if (held) [...element("network").querySelectorAll("button")].find(b => b.textContent === focus)?.focus();
    element("about").textContent = "Press a parameter to see its update, or a point to see its arithmetic.";
  }

  function say() {
    const now = curves.steps.length - 1, share = curves.accuracy[now], score = curves.loss[now];
    const figures = share === null ? ""
      : `step ${training.steps} · loss ${decimals(score)} · accuracy ${percent(share)}`;
    const text = trouble || (training.steps === 0
      ? `${training.p.length} ${own ? "" : "random "}weights. Each training step moves every weight a little `
        + "against its gradient, so that the loss falls."
      : "Each step moves every weight a little against its gradient, so that the loss falls.");
    const said = element("said");
    if (said.dataset.text !== text + figures) {
      said.dataset.text = text + figures;
      said.replaceChildren(make("span", trouble ? "wrong" : "", text), " ", make("b", "number", figures));
    }
    element("boundary").setAttribute("aria-label", `The plane with ${examples.length} points and the class `
      + `that the network gives to each place; accuracy ${percent(share)}`);
  }

  // ---- Controls

  function showControls() {
    const select = (id, value) => { element(id).value = value; };
    element("rate").value = settings.rate;
    const nearest = RATES.reduce((best, r, i) =>
      Math.abs(Math.log(r / settings.rate)) < Math.abs(Math.log(RATES[best] / settings.rate)) ? i : best, 0);
    element("rate-slider").value = nearest;
    element("rate-slider").setAttribute("aria-valuetext", settings.rate);
    element("seed").value = settings.seed;
    const choice = (id, value, text) => {  // a value from Python that the list does not have
      const list = element(id);
      if (![...list.options].some(o => +o.value === value)) list.append(new Option(text, value));
      list.value = value;
    };
    choice("decay", settings.decay, String(settings.decay));
    choice("batch", settings.batch, `${settings.batch} points`);
    select("optimizer", settings.optimizer);
    select("loss-name", settings.loss);
    for (const id of ["noise", "size", "share"]) {
      element(id).value = settings[id];
      element(id).previousElementSibling.textContent = id === "share" ? `${Math.round(100 * settings[id])}%`
        : settings[id];
    }
    element("noise").disabled = element("size").disabled = settings.data === "yours";
    element("again").disabled = settings.data === "yours";
    for (const shape of element("shapes").children)
      shape.setAttribute("aria-pressed", shape.dataset.shape === settings.data && !byHand);
    element("undo").disabled = !undone.length;
    if (!isFixed) {
      element("layer-count").textContent = hidden().length === 1 ? "1 hidden layer"
        : `${hidden().length} hidden layers`;
      element("fewer-layers").disabled = !hidden().length;
      element("more-layers").disabled = hidden().length >= MOST_LAYERS;
      element("activation-field").hidden = !hidden().length;
      if (hidden().length) element("activation").value = activations[0];
    }
    for (const name of ["weights", "gradients"])
      element(`show-${name}`).setAttribute("aria-pressed", hue === name);
    keys();
    ask();
  }
  function keys() {
    element("key-lines").replaceChildren(...(hue === "gradients" ? [strong("━ gradient", "gradient")]
      : [strong("━ positive", "positive"), " ", strong("━ negative", "negative")]));
  }

  function connect() {
    const press = (id, action) => element(id).addEventListener("click", action);
    press("train", train);
    press("one-step", oneStep);
    press("undo", undo);
    press("reset", reset);
    press("opened-back", () => stepOpened(-1));
    press("opened-forward", () => stepOpened(1));
    press("opened-all", () => stepOpened(1e6));
    press("close", () =>
      choose({...chosen, kind: "point", neuron: undefined, ...(isFixed && {point: undefined})}));
    press("fewer-layers", () => relayer(-1));
    press("more-layers", () => relayer(1));
    press("again", () => change(() => { settings.sample++; freshExamples(); }));
    press("clear", () => setExamples([], undefined));
    press("add", () => {
      addPoint(...[0, 1].map(k => Math.round(50 * (view.low[k] + view.high[k])) / 100));
      choose({kind: "point", point: examples.length - 1});
    });
    press("next-point", () => {
      if (examples.length) choose({kind: "point", point: ((chosen.point ?? -1) + 1) % examples.length});
    });
    for (const name of ["weights", "gradients"]) press(`show-${name}`, () => { hue = name; showControls(); });
    const changed = (id, action) => element(id).addEventListener("change", event => action(event.target));
    const isNumber = input => input.value !== "" && Number.isFinite(+input.value) && +input.value >= 0;
    changed("rate", input => isNumber(input) ? setting("rate", +input.value) : showControls());
    element("rate-slider").addEventListener("input", event => setting("rate", RATES[+event.target.value]));
    changed("seed", input => {
      if (isNumber(input)) setting("seed", Math.round(+input.value), () => {
        if (!isFixed) startAgain(drawnWeights());
      });
      showControls();
    });
    changed("batch", list => setting("batch", +list.value, () => { training.queue = []; }));
    changed("optimizer", list => setting("optimizer", list.value));
    changed("decay", list => setting("decay", +list.value));
    changed("loss-name", list => setting("loss", list.value, () => {
      const before = training.kept();
      assemble(training.p);
      training.restore(before);
    }));
    changed("activation", list => change(() => {
      activations = activations.map((name, k) => k < activations.length - 1 ? list.value : name);
      const before = training.kept();
      assemble(training.p);
      training.restore(before);
    }));
    for (const id of ["noise", "size", "share"]) {
      element(id).addEventListener("input", event => setting(id, +event.target.value, () => {
        if (!byHand) return freshExamples();
        const tests = Math.round(settings.share * examples.length);
        examples = examples.map((e, i) => ({...e, test: i < tests}));
      }));
    }
    makeHand(element("boundary"), {
      geometry: () => geometry, examples: () => examples,
      onAdd: addPoint, onChoose: point => choose({kind: "point", point}), onDelete: deletePoint,
      onGrab: remember, onDrop: showControls,
      onMove: (point, x, y) => {
        byHand = true;
        examples = examples.map((e, i) => i === point ? {...e, x, y} : e);
        note();
        ask();
      },
    });
    // Left and right step everywhere except in text fields; space plays.
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const {target, key} = event;
      if (key === "Escape") return choose({});
      if (target.matches("input[type=number], input[type=text], textarea, select")) return weightKeys(event);
      const isButton = target.matches("button, summary, a, input, [role=button]");
      const actions = {ArrowRight: oneStep, ArrowLeft: undo, " ": train};
      if (!(key in actions) || key === " " && isButton) return;
      event.preventDefault();
      event.stopPropagation();
      if (element("arithmetic").contains(target) && key !== " ")
        return stepOpened(key === "ArrowRight" ? 1 : -1);
      actions[key]();
    }, true);
  }

  // Up and down in a field with many sizes of numbers: to the next of 1, 2, 5, 10, ..., or by a tenth.
  function weightKeys(event) {
    const up = {ArrowUp: 1, ArrowDown: -1}[event.key], {target} = event;
    if (!up || !target.matches("#rate, [aria-label=Weight]")) return;
    event.preventDefault();
    if (target.id === "rate") {
      const next = up > 0 ? RATES.find(r => r > settings.rate * 1.001)
        : RATES.findLast(r => r < settings.rate * 0.999);
      if (next) setting("rate", next);
    } else {
      target.value = Math.round(10 * (+target.value + 0.1 * up)) / 10;
      target.dispatchEvent(new Event("change"));
    }
  }

  // ---- Points by hand

  let brush = 0;  // the class of new points

  function addPoint(x, y) {
    if (examples.length < MOST_POINTS) setExamples([...examples, {x, y, label: brush, test: false}]);
  }
  function deletePoint() {
    if (chosen.point !== undefined) setExamples(examples.filter((_, i) => i !== chosen.point), undefined);
  }

  function drawChoices() {
    element("shapes").replaceChildren(...[...(data.examples ? ["yours"] : []), ...Object.keys(SHAPES)]
      .filter(shape => classes === 2 || !ONLY_TWO.includes(shape)).map(shape => {
        const choice = make("button"), small = make("canvas");
        small.width = 96; small.height = 72;
        const context = small.getContext("2d");
        const points = shape === "yours" ? data.examples.map(([x, y, label]) => ({x, y, label}))
          : samples({shape, size: 60, noise: 0.02, share: 0, seed: 1, classes});
        const {low, high} = aroundPoints(points, 4 / 3);
        for (const {x, y, label} of points.slice(0, 120)) {
          context.fillStyle = theme.fills[label];
          context.beginPath();
          context.arc((x - low[0]) / (high[0] - low[0]) * 96, (1 - (y - low[1]) / (high[1] - low[1])) * 72, 3,
                      0, 2 * Math.PI);
          context.fill();
        }
        choice.dataset.shape = shape;
        choice.append(small, shape);
        choice.addEventListener("click", () => change(() => { settings.data = shape; freshExamples(); }));
        return choice;
      }));
    element("brush").replaceChildren(...data.names.map((name, label) => {
      const choice = make("button"), small = make("canvas");
      small.width = small.height = 36;
      const context = small.getContext("2d");
      context.scale(2, 2);
      drawMarker(context, label, 9, 9, 6);
      choice.append(small, make("bdi", "", name));
      choice.setAttribute("aria-pressed", label === brush);
      choice.setAttribute("aria-label", `New points are of class ${name}`);
      choice.addEventListener("click", () => { brush = label; drawChoices(); showControls(); });
      return choice;
    }));
    drawLegend(element("legend"), data.names);
  }

  // ---- The address

  function keepAddress() {
    const hash = asAddress({
      settings, step: training.steps,
      sizes: isFixed ? null : sizes, activation: isFixed ? null : activations[0],
      weights: training.p.length <= 1500 ? training.p : null, points: byHand ? examples : null,
    });
    try { history.replaceState(null, "", hash); } catch { /* a frame without an address */ }
  }

  function fromLink(link) {
    const choices = {
      data: [...(data.examples ? ["yours"] : []), ...Object.keys(SHAPES)], loss: data.losses.map(l => l.name),
      optimizer: Object.keys(OPTIMIZERS), activation: Object.keys(data.pieces).filter(n => n !== "weighted"),
    };
    const state = fromAddress(link, choices, classes);
    Object.assign(settings, state.settings);
    if (!isFixed && state.hidden) {
      const last = activations[activations.length - 1];
      const before = activations.length > 1 ? activations[0] : "tanh";
      const inner = state.hidden.map(() => state.activation || before);
      if (state.activation || state.hidden.join() !== hidden().join()) activations = [...inner, last];
      sizes = [2, ...state.hidden, outputs];
    }
    return state;
  }

  // ---- Start

  const initial = {settings: {...settings}, sizes, activations};

  // The state that Python gave, changed by what the address says.
  function begin(link) {
    Object.assign(settings, initial.settings);
    ({sizes, activations} = initial);
    chosen = {};
    undone = [];
    const state = fromLink(link);
    freshExamples();
    if (state.points) { examples = state.points; byHand = true; look(); }
    startAgain(own && (isFixed || sizes.join() === own.sizes.join()) ? own.weights : drawnWeights());
    if (state.weights && state.weights.length === training.p.length) {
      training.p.set(state.weights);
      training.steps = state.step || 0;
      curves = Object.fromEntries(Object.keys(curves).map(name => [name, []]));
      note();
    } else if (data.optimizer && !link) {
      training.updates = given.steps;
      for (const [name, numbers] of Object.entries(given.memory))
        training.memory[name] = Float64Array.from(numbers);
    }
  }

  const network = isFixed ? null : makeNetwork(element("network"), {
    onNeuron: (layer, index) => {
      choose({...chosen, kind: "neuron", neuron: {layer, index}, at: 0,
              point: chosen.point ?? (examples.length ? 0 : undefined)});
      requestAnimationFrame(() => element("arithmetic").scrollIntoView({block: "nearest"}));
    },
    onPoint: (layer, index) => { pointed = layer === null ? null : {layer, index}; ask(); },
    onLine: (layer, index, input) => choose({...chosen, kind: "weight", weight: {layer, index, input}}),
    onSize: resize,
  });
  const opened = makeOpened({
    svg: element("opened-graph"), map: element("opened-map"),
    onTurn: (node, steps) => {
      const place = model.parameters.indexOf(node);
      if (place >= 0) setWeight(place, Math.round(1000 * (training.p[place] + 0.1 * steps)) / 1000);
    },
    onPick: node => {
      const weight = ofParameter(node);
      if (weight) choose({...chosen, kind: "weight", weight});
    },
  });
  element("playback").remove();
  for (const id of ["training", "details", "data-panel", "hint"]) element(id).hidden = false;
  element("layers").hidden = element("activation-field").hidden = isFixed;
  element("seed").parentNode.hidden = isFixed;  // Reset goes back to the weights from Python
  for (const id of ["shown", "key-lines"]) element(id).hidden = isFixed;
  element("optimizer").append(...Object.keys(OPTIMIZERS).map(name => new Option(name, name)));
  element("decay").append(...PENALTIES.map(x => new Option(x === 0 ? "none" : String(x), x)));
  element("loss-name").append(...data.losses.map(({name}) => new Option(name, name)));
  element("activation").append(...Object.keys(data.pieces).filter(name => name !== "weighted")
    .map(name => new Option(name, name)));
  readTheme(false);
  begin(location.hash);
  connect();
  // Another link in the same window. (What the page itself writes into its address is not such an event.)
  addEventListener("hashchange", event => {
    pause();
    begin(new URL(event.newURL).hash);
    showControls();
  });
  redrawnWhenNeeded((isNow) => {
    opened.redraw();
    drawChoices();
    showControls();
    if (isNow === true) draw();
  });
  drawChoices();
  showControls();
  showTrain();
  draw();

  // For tests and for the console of the browser.
  return {
    numbers: () => [...training.p], train: (count) => { for (let i = 0; i < count; i++) oneStep(); draw(); },
    state: () => ({...kept(), chosen, model, program}), geometry: () => geometry, network,
  };
}
