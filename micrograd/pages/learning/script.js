// The experiment as a Python script, with this package or with PyTorch. Pure.

import {filled} from "../shared/texts.js";

const WIDEST = 88;
const SCRIPTS = {micrograd: "{{script.ours_code}}", PyTorch: "{{script.pytorch_code}}"};
const MODULES = {relu: "torch.nn.ReLU()", tanh: "torch.nn.Tanh()", sigmoid: "torch.nn.Sigmoid()"};

// A list as Python code, in lines that are not too long.
function listed(list) {
  const text = JSON.stringify(list).replaceAll(",", ", ");
  return text
    .match(new RegExp(`.{1,${WIDEST}}(?: |$)`, "g"))
    .map(line => line.trimEnd())
    .join("\n    ");
}

// Whether there is such a script: of an MLP with finite weights, points, and a loss that both packages have.
export function hasScript({isFixed, loss, trained, training, activations}) {
  const isUniform = new Set(activations.slice(0, -1)).size < 2;
  return !isFixed && !!loss.pytorch && trained.length > 0 && isUniform && training.p.every(Number.isFinite);
}

// The script for "micrograd" or "PyTorch".
export function scriptOf(experiment, name) {
  const {data, settings, loss, trained, tested, training, sizes, activations, isCurve} = experiment;
  const notes = [
    tested.length && filled("{{script.tests}}", {n: tested.length}),
    settings.batch < trained.length && filled("{{script.batch}}", {n: settings.batch}),
    training.updates && Object.keys(training.memory).length && "{{script.memory}}",
  ].filter(Boolean);
  const modules = activations.flatMap((bend, k) => [
    `torch.nn.Linear(${sizes[k]}, ${sizes[k + 1]})`,
    ...(MODULES[bend] ? [MODULES[bend]] : []),
  ]);
  const call = data.optimizers[settings.optimizer].code;
  return filled(SCRIPTS[name], {
    notes: notes.map(note => `# ${note}\n`).join(""),
    class: call.split("(")[0],
    optimizer: filled(call, settings),
    loss: name === "micrograd" ? loss.function : loss.pytorch,
    inputs: sizes[0],
    X: listed(trained.map(({x, y}) => (isCurve ? [x] : [x, y]))),
    y: listed(trained.map(({y, label}) => (isCurve ? y : loss.targets[label]))),
    weights: listed([...training.p]),
    rows: listed(experiment.rows()),
    modules: modules.join(",\n    "),
    layers: JSON.stringify(sizes.slice(1)).replaceAll(",", ", "),
    activation: activations[0],
    output: activations.at(-1),
    steps: training.steps,
  });
}
