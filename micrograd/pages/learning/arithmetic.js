// The panel of arithmetic: the neuron that was pressed, or a model that is not an MLP, with its operations
// for a point, step by step.

import {$, strong} from "../shared/elements.js";
import {number} from "../shared/numbers.js";
import {filled} from "../shared/texts.js";
import {INPUTS} from "./network.js";
import {makeOpened} from "./opened.js";

const PHASES = {forward: "{{opened.forward}}", seed: "{{opened.backward}}", backward: "{{opened.backward}}"};

//   onTurn(place, steps)  a knob on a parameter was turned;  onPick(weight): a parameter was pressed
export function makeArithmetic({experiment, attention, clock, onTurn, onPick}) {
  const place = node => experiment.model.parameters.indexOf(node);
  const opened = makeOpened({
    svg: $("opened-graph"),
    map: $("opened-map"),
    onTurn: (node, steps) => {
      if (place(node) >= 0) onTurn(place(node), steps);
    },
    onPick: node => {
      if (place(node) >= 0) onPick(experiment.weightAt(place(node)));
    },
  });

  // The nodes to show of a graph, with their names and kinds.
  function partOf(neuron, graph) {
    const {model, own} = experiment,
      names = new Map(),
      kinds = new Map();
    for (const node of model.parameters) kinds.set(node, "parameter");
    if (neuron) {
      const {inputs, weights, bias, output, begin, end} = model.layers[neuron.layer - 1][neuron.index];
      for (const node of inputs) kinds.set(node, "input");
      inputs.forEach((node, k) => names.set(node, experiment.neuronName(neuron.layer - 1, k)));
      weights.forEach((node, k) => names.set(node, `w${k}`));
      names.set(bias, "b").set(output, experiment.neuronName(neuron.layer, neuron.index));
      const inside = Array.from({length: end - begin}, (_, k) => begin + k);
      return {names, kinds, nodes: [...inputs, ...inside]};
    }
    for (const node of model.inputs) kinds.set(node, "input");
    model.inputs.forEach((node, k) => names.set(node, INPUTS[k]));
    model.parameters.forEach((node, k) => names.set(node, own.called[k]));
    names.set(graph.root, "{{term.loss}}");
    return {names, kinds, nodes: [...graph.nodes.keys()]};
  }

  function draw() {
    const {chosen} = attention,
      {examples, isFixed, model, sizes, activations, settings} = experiment;
    const neuron = chosen.neuron && chosen.neuron.layer > 0 && examples.length ? chosen.neuron : null;
    const isModel = isFixed && chosen.point !== undefined && model.graph.nodes.length < 200;
    $("arithmetic").hidden = !neuron && !isModel;
    if (!neuron && !isModel) return;
    const point = chosen.point ?? 0,
      whole = experiment.flow(point),
      {x, y, label} = examples[point];
    const {names, kinds, nodes} = partOf(neuron, whole.graph);
    const title = neuron ? experiment.neuronTitle(neuron.layer, neuron.index) : "{{opened.whole}}";
    const told = opened.show({
      again: [sizes, activations, settings.loss, title, label].join(),
      whole,
      nodes,
      rest: !!neuron,
      named: node => names.get(node),
      kindOf: node => kinds.get(node),
      at: chosen.at ?? 0,
    });
    chosen.at = told.at;
    $("opened-name").textContent = title;
    $("opened-about").textContent = filled("{{opened.point}}", {x: number(x), y: number(y)});
    $("opened-count").textContent = filled("{{steps.count}}", {at: told.at, last: told.count - 1});
    $("opened-back").disabled = told.at === 0;
    $("opened-forward").disabled = $("opened-all").disabled = told.at === told.count - 1;
    $("opened-phase").textContent = PHASES[told.phase] ?? "";
    $("opened-phase").className = told.phase === "forward" ? "" : "gradient";
    $("opened-said").setAttribute("aria-live", clock.isRunning() ? "off" : "polite");
    $("opened-said").replaceChildren(
      ...told.said.map(([text, kind]) => (kind ? strong(text, kind === "strong" ? "" : kind) : text)),
    );
  }

  return {draw, redraw: opened.redraw};
}
