"""Templates of the training page's "Copy as Python": scripts with this package and with PyTorch.

The page fills in the gaps: {X}, {y}, {weights}, ... A name in braces that it does not know, as in
an f-string, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.losses import binary_cross_entropy, cross_entropy, hinge, squared_error
from micrograd.optim import Optimizer

BEGIN = """\
# The training page after {steps} steps: its network, training points and optimizer.
{notes}"""

OURS = """\
from micrograd import MLP, {class}
from micrograd.losses import {loss}

X = {X}
y = {y}
weights = {weights}

model = MLP(2, {layers}, activation="{activation}", output="{output}")
for parameter, weight in zip(model.parameters(), weights, strict=True):
    parameter.data = weight
optimizer = {optimizer}

for step in range({steps}, {steps} + 101):
    loss = sum({loss}(model(x), target) for x, target in zip(X, y, strict=True)) / len(X)
    if step % 10 == 0:
        print(f"step {step}: loss {loss.data:.3f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PYTORCH = """\
import torch

torch.set_default_dtype(torch.float64)  # the page's precision

X = torch.tensor({X})
y = torch.tensor({y})
weights = {rows}  # by layer and neuron, the bias last

model = torch.nn.Sequential(
    {modules},
)
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
    optimizer.step()
"""

# By loss: how each package calls it.
LOSSES: dict[Callable[..., Any], dict[str, str]] = {
    loss: {"micrograd": loss.__name__, "PyTorch": theirs}
    for loss, theirs in {
        binary_cross_entropy: (
            "torch.nn.functional.binary_cross_entropy_with_logits(scores[:, 0], y.double())"
        ),
        cross_entropy: "torch.nn.functional.cross_entropy(scores, y)",
        hinge: "(1 - y * scores[:, 0]).relu().mean()",
        squared_error: "torch.nn.functional.mse_loss(scores[:, 0], y.double())",
    }.items()
}


def scripts() -> dict[str, Any]:
    """The templates by package, and what goes into the gap {modules} by its kind.

    >>> sorted(scripts()["templates"])
    ['PyTorch', 'micrograd']
    """
    return {
        "templates": {"micrograd": BEGIN + OURS, "PyTorch": BEGIN + PYTORCH},
        "linear": "torch.nn.Linear({n_in}, {n_out})",
        "activations": {
            "relu": "torch.nn.ReLU()",
            "tanh": "torch.nn.Tanh()",
            "sigmoid": "torch.nn.Sigmoid()",
        },
    }


def call_of(optimizer: Optimizer) -> str:
    """The call that makes such an optimizer, in both packages; lr and weight_decay are gaps.

    >>> from micrograd import SGD, Value
    >>> call_of(SGD([Value(1.0)], momentum=0.8))
    'SGD(model.parameters(), lr={rate}, momentum=0.8, weight_decay={decay})'
    """
    settings: dict[str, Any] = {"lr": "{rate}"}
    for name in ("momentum", "betas", "eps"):
        if setting := getattr(optimizer, name, None):
            settings[name] = setting
    settings["weight_decay"] = "{decay}"
    given = ", ".join(f"{name}={setting}" for name, setting in settings.items())
    return f"{type(optimizer).__name__}(model.parameters(), {given})"
