// A network in training on points: its state, what can be changed, and how to take it back. No drawing.

import {Graph} from "../shared/program.js";
import {Past} from "../shared/state.js";
import {filled} from "../shared/texts.js";
import {inputName, inputWeight, perceptron, whole, withLoss} from "./assembly.js";
import {flattened} from "./flat.js";
import {statesOf} from "./health.js";
import {useOptimizers} from "./optimizers.js";
import {Random} from "./random.js";
import {ONLY_TWO, SHAPES, asKept, samples} from "./samples.js";
import {aroundPoints} from "./sight.js";
import {Training} from "./training.js";
import {formulaFrom} from "./typed.js";

const ALL = 1e9; // a batch of all points
// The first weights of a neuron in a layer with so many inputs and outputs.
export const STARTS = {
  uniform: random => random.uniform(-1, 1),
  he: (random, inputs) => random.normal() * Math.sqrt(2 / inputs),
  xavier: (random, inputs, outputs) => Math.sqrt(6 / (inputs + outputs)) * random.uniform(-1, 1),
};
export const MOST_INPUTS = 16; // of a neuron, to draw each
export const MOST_CLASSES = 8; // that have a colour

export class Experiment {
  // What begin() makes, for the present data, network and loss.
  /** @type {Example[]} */ examples = [];
  /** @type {any} */ model;
  /** @type {any} */ loss;
  /** @type {any[]} */ withLosses = []; // the model with the loss behind it, for each label
  /** @type {Graph[]} */ graphs = []; // of withLosses, each made when it is needed
  /** @type {any} */ view; // of the plane
  /** @type {number[][]} */ ranges = []; // of each input: the smallest and the largest number
  /** @type {any} */ program;
  /** @type {any} */ training;
  /** @type {Record<string, any[]>} */ curves = {};
  /** @type {any} */ before = null; // training before the last step
  /** @type {any} */ found = null; // the states of the neurons, once they were asked for
  /** @type {any} */ moved = null; // what the last single step did
  // What there is to learn: the names of the inputs and of the classes, or numbers to predict.
  /** @type {string[]} */ inputs = [];
  /** @type {string[]} */ names = [];
  isRegression = false;
  byHand = false; // whether the points are no longer those of the settings

  // data: what playground.py wrote into the page
  constructor(data) {
    const own = data.model,
      given = data.optimizer || {},
      isOwnData = !!data.examples;
    this.data = data;
    this.own = own;
    this.isFixed = !!own?.piece; // a model that is not an MLP: it trains, but cannot grow
    const {names, isRegression} = data,
      inputs = Array.isArray(data.inputs) ? data.inputs : Array.from({length: data.inputs}, (_, k) => inputName(k));
    const outputs = own ? (own.piece?.outputs.length ?? own.sizes.at(-1)) : names.length > 2 ? names.length : 1;
    this.given = {inputs, isRegression, names, outputs};
    this.settings = {
      data: isOwnData ? "yours" : isRegression ? "curve" : "moons",
      size: 100,
      noise: 0.1,
      share: isOwnData ? 0 : 0.2,
      sample: 1,
      formula: "y > sin(3x)", // of points by a formula
      stop: "", // when training is good enough, such as "loss 0.1"
      seed: 11,
      init: "uniform", // how the first weights are drawn
      rate: given.rate ?? 0.3,
      batch: ALL,
      optimizer: given.name || "SGD",
      decay: given.decay ?? 0,
      loss: data.losses[this.given.outputs][0].name,
    };
    useOptimizers(data.optimizers);
    this.sizes = own ? own.sizes : [inputs.length, 8, 8, outputs];
    this.activations = own ? own.activations : ["tanh", "tanh", "linear"];
    this.initial = {settings: {...this.settings}, sizes: this.sizes, activations: this.activations};
    this.ratio = 1.3; // of the plane: width over height
    this.past = new Past(this.kept.bind(this), this.restore.bind(this));
  }

  get trained() {
    return this.examples.filter(e => !e.test);
  }
  get tested() {
    return this.examples.filter(e => e.test);
  }
  get hidden() {
    return this.isFixed ? [] : this.sizes.slice(1, -1);
  }
  // What the points look like: each is a number x and a number y to predict, or a place in the plane and its class; any
  // others are in a table.
  get isCurve() {
    return this.isRegression && this.inputs.length === 1;
  }
  get hasPlane() {
    const {inputs, names} = this;
    return this.isCurve || (inputs.length === 2 && !this.isRegression && names.length <= MOST_CLASSES);
  }
  // The width of the images that the inputs are, or 0.
  get imageWidth() {
    const width = Math.sqrt(this.inputs.length);
    return width >= 4 && Number.isInteger(width) ? width : 0;
  }
  // Whether there are too many inputs to draw each.
  get isFolded() {
    return this.inputs.length > MOST_INPUTS;
  }
  // The number of scores.
  get outputs() {
    const {given, names, isRegression} = this;
    if (isRegression === given.isRegression && names.length === given.names.length) return given.outputs;
    return isRegression || names.length === 2 ? 1 : names.length;
  }
  get losses() {
    return this.isRegression ? [this.data.regression] : this.data.losses[this.outputs];
  }
  // The data to choose from; a model that is not an MLP keeps its inputs.
  get shapes() {
    const {data, isFixed, given} = this;
    const fits = shape => {
      const isCurve = shape === "curve",
        {length} = given.names;
      if (isFixed && (isCurve !== given.isRegression || given.inputs.length !== (isCurve ? 1 : 2))) return false;
      return isCurve || length === 2 || (length <= MOST_CLASSES && !ONLY_TWO.includes(shape));
    };
    return [...(data.examples ? ["yours"] : []), ...Object.keys(SHAPES).filter(fits)];
  }
  // What went wrong.
  get trouble() {
    if (!this.trained.length) return "{{train.none}}";
    return Number.isFinite(this.curves.loss.at(-1)) ? "" : "{{train.overflow}}";
  }
  get isGoodEnough() {
    const [kind, least] = this.settings.stop.split(" "),
      now = this.curves[kind]?.at(-1) ?? NaN;
    return kind === "accuracy" ? now >= +least : now <= +least;
  }
  get settingsOfStep() {
    return {...this.settings, ...this.data.fixed};
  }

  // ---- Start

  // The state that Python gave, changed by what an address says; `isLinked`: whether it says anything.
  begin(state, isLinked) {
    Object.assign(this.settings, this.initial.settings, state.settings);
    this.sizes = this.initial.sizes;
    this.activations = this.initial.activations;
    this.past.states = [];
    this.drawExamples();
    if (state.points) {
      const {points, isRegression = this.isRegression, names = this.names} = state;
      const length = points[0].numbers.length - Number(isRegression);
      const known = [state.inputs, this.inputs].find(inputs => inputs?.length === length);
      const inputs = known ?? Array.from({length}, (_, k) => inputName(k));
      this.take({points, names, isRegression, inputs}, true);
    }
    if (!this.isFixed) this.rebuild(state.hidden ?? this.initial.sizes.slice(1, -1), state.activation);
    const {own, data} = this;
    const isOwn = own && (this.isFixed || this.sizes.join() === own.sizes.join());
    const isDrawn = this.settings.init !== this.initial.settings.init && !this.isFixed;
    this.startAgain(isOwn && !isDrawn ? own.weights : this.drawnWeights());
    if (state.weights && state.weights.length === this.training.p.length) {
      this.training.p.set(state.weights);
      this.training.steps = state.step || 0;
      this.clearCurves();
      this.note();
    } else if (data.optimizer && !isLinked) {
      this.training.updates = data.optimizer.step;
      for (const [name, numbers] of Object.entries(data.optimizer.kept))
        this.training.memory[name] = Float64Array.from(numbers);
    }
  }
  rebuild(hidden, activation) {
    const last = this.activations.at(-1);
    const before = this.activations.length > 1 ? this.activations[0] : "tanh";
    if (activation || hidden.join() !== this.hidden.join())
      this.activations = [...hidden.map(() => activation || before), last];
    this.sizes = [this.inputs.length, ...hidden, this.outputs];
  }

  // Functions for the present network and loss; `weights` where training goes on.
  assemble(weights) {
    const {data, settings, losses} = this;
    this.loss = losses.find(l => l.name === settings.loss) ?? losses[0];
    this.model = this.isFixed ? whole(this.own.piece) : perceptron(this.sizes, this.activations, data.pieces);
    // The line of each parameter in the picture of an MLP: {layer, index, input}. The bias comes last in its neuron.
    const linesTo = (layer, {weights}, index) => [...weights, 0].map((_, input) => ({layer, index, input}));
    this.lines = this.model.layers.flatMap((all, k) => all.flatMap((each, i) => linesTo(k + 1, each, i)));
    this.withLosses = this.loss.classes.map(loss => withLoss(this.model, loss));
    this.program = flattened(this.model, data.pieces, this.loss.classes, this.isRegression);
    Object.assign(this, {graphs: [], before: null, found: null});
    this.training = new Training(this.program, weights, this.outputs);
    this.training.random.state = settings.seed;
  }
  // The same weights and memory for another loss or activation.
  reassemble() {
    const before = this.training.kept();
    this.assemble(this.training.p);
    this.training.restore(before);
  }

  // Another activation of all hidden neurons.
  bend(activation) {
    this.activations = [...this.hidden.map(() => activation), this.activations.at(-1)];
    this.reassemble();
  }
  // Numbers of two losses would not belong on one curve.
  useLoss() {
    this.reassemble();
    this.clearCurves();
  }

  // Weights as Python draws them, such as uniform in [-1, 1); biases are 0.
  drawnWeights() {
    const random = new Random(this.settings.seed),
      draw = STARTS[this.settings.init];
    const neuron = (inputs, outputs) => [...Array.from({length: inputs}, () => draw(random, inputs, outputs)), 0];
    const layer = (size, k) => Array.from({length: size}, () => neuron(this.sizes[k], size)).flat();
    return this.sizes.slice(1).flatMap(layer);
  }

  startAgain(weights = this.isFixed ? this.own.weights : this.drawnWeights()) {
    this.assemble(weights);
    this.clearCurves();
    this.note();
  }

  clearCurves() {
    this.curves = {steps: [], loss: [], testLoss: [], accuracy: [], testAccuracy: [], ratios: []};
  }
  drawExamples() {
    const {settings, data, given} = this,
      {names, inputs} = given;
    if (settings.data === "yours") {
      const points = data.examples.map(row => ({numbers: row.slice(0, -1), label: row.at(-1)})); // not rounded
      return this.take({...given, points: this.divided(points)});
    }
    const {data: shape, formula} = settings,
      isCurve = shape === "curve" || (shape === "formula" && formulaFrom(formula)?.isRegression),
      count = isCurve ? 1 : 2;
    const points = samples({...settings, shape, seed: settings.sample, classes: names.length});
    const called = inputs.length === count ? inputs : [0, 1].slice(0, count).map(inputName);
    this.take({points: this.divided(points, true), names, isRegression: !!isCurve, inputs: called});
  }
  // Other points; if they have other inputs or classes, the network begins again.
  take({points, names, isRegression, inputs}, byHand = false) {
    const shape = () => [this.inputs.length, this.outputs, this.isRegression].join(),
      before = shape();
    Object.assign(this, {examples: points, names, isRegression, inputs, byHand});
    this.look();
    if (!this.training || shape() === before || this.isFixed) return;
    this.rebuild(this.hidden);
    this.startAgain();
  }
  // Each input, and each number to predict, minus its mean over the training points, divided by its standard deviation.
  scale() {
    const {trained} = this;
    const scales = trained[0].numbers.map((_, k) => {
      const all = trained.map(({numbers}) => numbers[k]),
        mean = all.reduce((sum, x) => sum + x / all.length, 0);
      return [mean, Math.sqrt(all.reduce((sum, x) => sum + (x - mean) ** 2 / all.length, 0)) || 1];
    });
    const scaled = (x, k) => asKept((x - scales[k][0]) / scales[k][1]);
    const points = this.examples.map(e => ({...e, numbers: e.numbers.map(scaled)}));
    Object.assign(this, {examples: points, byHand: true});
    this.look();
    this.startAgain();
  }
  useData(name) {
    this.settings.data = name;
    this.drawExamples();
  }
  // Which ones are for testing: of points drawn at random the first ones. A table may be sorted.
  divided(points, isDrawn = false) {
    const {share, sample} = this.settings;
    const order = isDrawn ? [...points.keys()] : new Random(sample).shuffled([...points.keys()]);
    const tests = new Set(order.slice(0, Math.round(share * points.length)));
    return points.map((e, i) => ({...e, test: tests.has(i)}));
  }
  look() {
    this.view = aroundPoints(this.examples, this.ratio, this.isCurve);
    this.ranges = this.inputs.map((_, k) => {
      const all = this.examples.map(({numbers}) => numbers[k]);
      return [Math.min(...all), Math.max(...all)];
    });
  }
  // Looks again if a point is out of sight.
  keepInSight() {
    const {low, high} = this.view;
    const isSeen = (x, y) => x >= low[0] && x <= high[0] && y >= low[1] && y <= high[1];
    if (!this.examples.every(({numbers}) => isSeen(numbers[0], numbers[1]))) this.look();
  }

  // ---- Training

  // Up to `count` steps, as many as there is time for in a frame, but at least one.
  step(count = 1) {
    const until = performance.now() + 25,
      examples = this.trained,
      settings = this.settingsOfStep;
    for (let isLast = false; !isLast; ) {
      isLast = --count <= 0 || performance.now() > until;
      if (isLast) this.before = this.training.kept();
      this.training.step(examples, settings);
    }
    const {p} = this.training,
      before = this.before.p;
    const size = ([from, to], of) => Math.sqrt(p.slice(from, to).reduce((sum, _, i) => sum + of(from + i) ** 2, 0));
    this.note(this.layers.map(part => size(part, i => p[i] - before[i]) / size(part, i => before[i])));
  }

  // One step, and what it moved most.
  stepAndTell() {
    const lossBefore = this.curves.loss.at(-1);
    this.step();
    const {p, G} = this.training,
      before = this.before.p,
      {settings} = this;
    const far = i => Math.abs(p[i] - before[i]);
    // A weight has a line that is marked; a bias is told of if no weight moved.
    const [place] = [...p.keys()]
      .filter(far)
      .sort((i, j) => Number(this.isBias(i)) - Number(this.isBias(j)) || far(j) - far(i));
    this.moved = {
      weight: place, // undefined if nothing moved
      weights: before,
      before: before[place],
      after: p[place],
      gradient: G[place],
      losses: [lossBefore, this.curves.loss.at(-1)],
      isPlain: settings.optimizer === "SGD" && !settings.decay, // learning rate × gradient, nothing else
    };
  }

  // The loss to which the last step would have led with a tenth of the learning rate; null if there was none.
  lossWithTenth() {
    const {training, settingsOfStep, trained, loss, before} = this;
    if (!before) return null;
    const now = training.kept();
    training.restore(before);
    training.step(trained, {...settingsOfStep, rate: settingsOfStep.rate / 10});
    const judged = training.judged(trained, loss.threshold);
    training.restore(now);
    return judged.loss;
  }
  // What keeps each hidden neuron from learning.
  get states() {
    const {trained, sizes, activations, isFixed} = this;
    const outputs = () => trained.map(({numbers}) => this.outputsAt(numbers));
    this.found ??= isFixed ? [] : statesOf(outputs(), sizes, activations);
    return this.found;
  }
  // The outputs of all neurons for a point, layer by layer.
  outputsAt(numbers) {
    const outputs = new Float64Array(this.model.layers.flat().length);
    this.program.look(this.training.p, numbers, outputs);
    return outputs;
  }

  // Where the parameters of each layer begin and end; all of them if the model has no layers.
  get layers() {
    const ends = this.model.layers.map(layer => layer.at(-1)).map(({first, weights}) => first + weights.length + 1);
    return (ends.length ? ends : [this.training.p.length]).map((end, k, all) => [all[k - 1] ?? 0, end]);
  }
  // Of each layer: its outputs for all training points, unless it is linear, its gradients, and |step| / |parameters| of
  // the steps on the curves.
  get health() {
    const {training, trained, curves, model, activations} = this;
    const all = trained.map(({numbers}) => this.outputsAt(numbers));
    training.backward(trained);
    let end = 0; // of the outputs of a layer
    return this.layers.map((part, k) => {
      const begin = end;
      end += model.layers[k]?.length ?? 0;
      const outputs = activations[k] === "linear" ? [] : all.flatMap(each => [...each.slice(begin, end)]);
      return {outputs, gradients: [...training.G.slice(...part)], ratios: curves.ratios.map(each => each?.[k])};
    });
  }

  // Adds the present to the curves; of long curves every other number is dropped.
  note(ratios = null) {
    const {training, curves} = this;
    const judged = [this.trained, this.tested].map(list => training.judged(list, this.loss.threshold));
    this.perClass = judged[0].classes;
    const [{loss, accuracy}, {loss: testLoss, accuracy: testAccuracy}] = judged;
    const isAgain = curves.steps.at(-1) === training.steps,
      isLong = curves.steps.length > 800;
    const moved = isAgain ? curves.ratios.at(-1) : ratios;
    const now = {steps: training.steps, loss, testLoss, accuracy, testAccuracy, ratios: moved};
    for (const [name, number] of Object.entries(now)) {
      if (isAgain) curves[name].pop();
      if (isLong) curves[name] = curves[name].filter((_, i) => i % 2 === 0);
      curves[name].push(number);
    }
    Object.assign(this, {moved: null, found: null});
  }

  // ---- Undo

  kept() {
    const {settings, sizes, activations, examples, view, byHand, names, inputs, isRegression, training, curves} = this;
    const copies = {settings: {...settings}, training: training.kept(), curves: structuredClone(curves)};
    return {sizes, activations, examples, view, byHand, names, inputs, isRegression, ...copies};
  }
  restore({settings, training, ...rest}) {
    Object.assign(this.settings, settings);
    Object.assign(this, rest, {moved: null});
    this.assemble(training.p);
    this.training.restore(training);
  }

  // ---- Changes of the network

  // The weights as rows, for each layer and neuron: those of its inputs, then the bias.
  rows() {
    return this.model.layers.map(layer =>
      layer.map(({first, weights}) => [...this.training.p.slice(first, first + weights.length + 1)]),
    );
  }
  resize(layer, by) {
    const {sizes, settings, training} = this,
      rows = this.rows();
    const random = new Random(settings.seed + training.steps + sizes[layer]);
    if (by > 0) {
      // The next layer ignores the new neuron at first, so the boundary stays as it is.
      rows[layer - 1].push([...Array.from({length: sizes[layer - 1]}, () => random.uniform(-1, 1)), 0]);
      for (const row of rows[layer]) row.splice(row.length - 1, 0, 0);
    } else {
      rows[layer - 1].pop();
      for (const row of rows[layer]) row.splice(row.length - 2, 1);
    }
    this.sizes = sizes.map((size, k) => size + (k === layer ? by : 0));
    this.assemble(rows.flat(2));
    this.training.steps = training.steps;
  }
  addOrRemoveLayer(by) {
    const {sizes, activations, hidden} = this;
    const [inner, bends] = [hidden, activations.slice(0, -1)].map((list, k) =>
      by > 0 ? [...list, list.at(-1) ?? [4, "tanh"][k]] : list.slice(0, -1),
    );
    this.sizes = [sizes[0], ...inner, sizes.at(-1)];
    this.activations = [...bends, activations.at(-1)];
    this.startAgain();
  }

  // ---- One point in the network

  // The graph of a point with its loss, all data and all gradients.
  flow(index) {
    const {numbers, label} = this.examples[index],
      place = Math.min(label, this.withLosses.length - 1);
    const {inputs, parameters, graph: recorded} = this.withLosses[place];
    const graph = (this.graphs[place] ??= new Graph(recorded)),
      leaves = new Map(graph.leaves);
    inputs.forEach((node, k) => leaves.set(node, numbers[k] ?? label));
    parameters.forEach((node, k) => leaves.set(node, this.training.p[k]));
    const d = graph.forward(leaves),
      g = graph.backward(d);
    return {graph, d, g};
  }

  // How far the loss of the training points moves when a parameter moves by `size`.
  nudged(place, size) {
    const {p} = this.training,
      own = p[place];
    const [before, after] = [own, own + size].map(number => {
      p[place] = number;
      return this.training.judged(this.trained, this.loss.threshold).loss;
    });
    p[place] = own;
    return after - before;
  }

  // ---- Weights by their place among all parameters, and their names

  isBias(place) {
    const weight = this.lines[place]; // none in a model that is not an MLP
    return !!weight && weight.input === this.sizes[weight.layer - 1];
  }
  weightName(place) {
    if (this.isFixed) return this.own.called[place];
    const {layer, index, input} = this.lines[place];
    const isBias = this.isBias(place);
    // A network of one neuron has the names of its formula: w₁, w₂, b.
    if (this.model.layers.flat().length === 1) return isBias ? "b" : inputWeight(input);
    return `${this.neuronName(layer, index)}.${isBias ? "b" : `w${input}`}`;
  }
  neuronName(layer, index) {
    return layer === 0 ? this.inputs[index] : `L${layer - 1}.n${index}`;
  }
  neuronTitle(layer, index) {
    const name = this.neuronName(layer, index);
    const isOuter = layer % (this.sizes.length - 1) === 0;
    return isOuter
      ? filled(layer ? "{{net.output}}" : "{{net.input}}", {name})
      : `${name}, ${this.activations[layer - 1]}`;
  }
  hasNeuron({layer, index}) {
    return !this.isFixed && index < (this.sizes[layer] ?? 0);
  }
}
