// The experiment as a Python script, with this package or with PyTorch. Pure.

import {filled} from "../shared/texts.js";

const WIDEST = 88;
const MODULES = {relu: "torch.nn.ReLU()", tanh: "torch.nn.Tanh()", sigmoid: "torch.nn.Sigmoid()"};

// A list as Python code, in lines that are not too long.
function listed(list) {
  const text = JSON.stringify(list).replaceAll(",", ", ");
  const lines = text.match(new RegExp(`.{1,${WIDEST}}(?: |$)`, "g")) ?? [];
  return lines.map(line => line.trimEnd()).join("\n    ");
}

// Names in single braces that the page does not know stay.
const SCRIPTS = {
  micrograd: `# {{script.first}}
{notes}from micrograd import MLP, {class}
from micrograd.losses import {loss}

X = {X}
y = {y}
weights = {weights}

model = MLP({inputs}, {layers}, activation="{activation}", output="{output}")
for parameter, weight in zip(model.parameters(), weights, strict=True):
    parameter.data = weight
optimizer = {optimizer}

for step in range({steps}, {steps} + 101):
    loss = sum({loss}(model(x), target) for x, target in zip(X, y, strict=True)) / len(X)
    if step % 10 == 0:
        print(f"step {step}: loss {loss.data:.3f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()`,
  PyTorch: `# {{script.first}}
{notes}import torch

torch.set_default_dtype(torch.float64)  # the page's precision

X = torch.tensor({X})
y = torch.tensor({y})
weights = {rows}  # by layer and neuron, the bias last

model = torch.nn.Sequential({modules})
linear = [layer for layer in model if isinstance(layer, torch.nn.Linear)]
with torch.no_grad():
    for layer, rows in zip(linear, map(torch.tensor, weights), strict=True):
        layer.weight.copy_(rows[:, :-1])
        layer.bias.copy_(rows[:, -1])
optimizer = torch.optim.{optimizer}

for step in range({steps}, {steps} + 101):
    scores = model(X)
    loss = {loss}
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()`,
};

// Whether there is such a script: of an MLP with finite weights, points, and a loss that both packages have.
export function hasScript({isFixed, loss, trained, training, activations}) {
  const isUniform = new Set(activations.slice(0, -1)).size < 2;
  return !isFixed && !!loss.pytorch && trained.length > 0 && isUniform && training.p.every(Number.isFinite);
}

// The script for "micrograd" or "PyTorch".
export function scriptOf(experiment, name) {
  const {data, settings, loss, trained, tested, training, sizes, activations, isRegression} = experiment;
  const notes = [
    tested.length && filled("{{script.tests}}", {n: tested.length}),
    settings.batch < trained.length && filled("{{script.batch}}", {n: settings.batch}),
    training.updates && Object.keys(training.memory).length && "{{script.memory}}",
  ].filter(Boolean);
  const linear = k => `torch.nn.Linear(${sizes[k]}, ${sizes[k + 1]})`;
  const modules = activations.flatMap((bend, k) => [linear(k), MODULES[bend] ?? []].flat());
  const call = data.optimizers[settings.optimizer].code;
  return filled(SCRIPTS[name], {
    notes: notes.map(note => `# ${note}\n`).join(""),
    class: call.split("(")[0],
    optimizer: filled(call, settings),
    loss: name === "micrograd" ? loss.function : loss.pytorch,
    inputs: sizes[0],
    X: listed(trained.map(({numbers}) => numbers.slice(0, sizes[0]))),
    y: listed(trained.map(({numbers, label}) => (isRegression ? numbers.at(-1) : loss.targets[label]))),
    weights: listed([...training.p]),
    rows: listed(experiment.rows()),
    modules: modules.join(",\n    "),
    layers: JSON.stringify(sizes.slice(1)).replaceAll(",", ", "),
    activation: activations[0],
    output: activations.at(-1),
    steps: training.steps,
  });
}
