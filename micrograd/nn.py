"""Chapter 3: neurons, layers and networks, made of nothing but Values.

A neuron computes activation(w1 x1 + ... + wn xn + b), a layer is some neurons side by side that see
the same inputs, and a multi-layer perceptron (MLP) is some layers in a row. Names, signatures,
reprs and the order of random numbers are those of Karpathy's micrograd, so that programs written
for it give the same digits here.

    >>> import random
    >>> random.seed(1337)
    >>> model = MLP(2, [4, 1])
    >>> model
    MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of \
[LinearNeuron(4)]]
    >>> len(model.parameters())
    17

Letters: w weights, b bias, x inputs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from micrograd.arithmetic import as_number
from micrograd.engine import Value


def _linear(value: Value) -> Value:
    return value


ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "relu": Value.relu,
    "tanh": Value.tanh,
    "sigmoid": Value.sigmoid,
    "linear": _linear,
}


class Module:
    """What has parameters: the Values among its attributes, and those of the Modules among them.

    A subclass sets attributes and defines `__call__`; lists, tuples and dicts of Values or Modules
    count as well.

    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope, self.bias = Value(2.0), Value(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.bias
    >>> Line().state_dict()
    {'slope': 2.0, 'bias': 1.0}
    """

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """Pairs of a name, as one would type it after `model.`, and a parameter; each one once.

        >>> [name for name, p in Layer(1, 2).named_parameters()]
        ['neurons[0].w[0]', 'neurons[0].b', 'neurons[1].w[0]', 'neurons[1].b']
        """
        seen: set[Value] = set()
        for name, value in _values_in(vars(self), "", attributes=True):
            if value not in seen:
                seen.add(value)
                yield name, value

    def parameters(self) -> list[Value]:
        """All parameters, in the order in which they were made.

        >>> len(Layer(3, 2).parameters())
        8
        """
        return [p for _, p in self.named_parameters()]

    def zero_grad(self) -> None:
        """Resets the gradients, which would otherwise add up from one backward pass to the next.

        >>> neuron = Neuron(1)
        >>> neuron.b.grad = 5.0
        >>> neuron.zero_grad()
        >>> neuron.b.grad
        0
        """
        for p in self.parameters():
            p.grad = 0

    def state_dict(self) -> dict[str, Any]:
        """The data of all parameters by name: what is worth saving of a trained model."""
        return {name: p.data for name, p in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the data of all parameters from what `state_dict()` gave; all of them or none.

        Raises:
            ValueError: the names in `state` are not exactly the names of the parameters.
            TypeError: one of its entries is not a number.

        >>> a, b = Neuron(2), Neuron(2)
        >>> b.load_state_dict(a.state_dict())
        >>> a.state_dict() == b.state_dict()
        True
        """
        parameters = dict(self.named_parameters())
        missing = [name for name in parameters if name not in state]
        unknown = [name for name in state if name not in parameters]
        if missing or unknown:
            raise ValueError(
                f"this {type(self).__name__} has {len(parameters)} parameters, the state has "
                f"{len(state)}: missing {_some(missing)}, unknown {_some(unknown)}; build the "
                "model with the sizes it was saved with"
            )
        data = {name: as_number(number) for name, number in state.items()}
        wrong = [name for name, number in data.items() if number is NotImplemented]
        if wrong:
            raise TypeError(f"the state holds something else than a number at {_some(wrong)}")
        for name, p in parameters.items():
            p.data = data[name]


class Neuron(Module):
    """activation(w1 x1 + ... + wn xn + b), weights uniform in [-1, 1), bias 0.

    Args:
        nin: number of inputs.
        nonlin: False for a linear neuron, whatever the activation.
        activation: 'relu', 'tanh', 'sigmoid' or 'linear'.

    >>> neuron = Neuron(2)
    >>> neuron.w[0].data, neuron.w[1].data, neuron.b.data = 3.0, -1.0, 0.5
    >>> neuron([1.0, 2.0]).data
    1.5
    """

    def __init__(self, nin: int, nonlin: bool = True, activation: str = "relu") -> None:
        if nin < 1:
            raise ValueError(f"a Neuron needs at least one input, got nin={nin}")
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.activation = activation if nonlin else "linear"
        self.nonlin = self.activation != "linear"

    def __call__(self, x: Sequence[Any] | Value) -> Value:
        """The output for n inputs, numbers or Values; for n = 1 the input may stand alone."""
        x = _inputs(x)
        if len(x) != len(self.w):
            raise ValueError(
                f"Neuron expects {len(self.w)} inputs, got {len(x)}: "
                f"was its layer built with nin={len(x)}?"
            )
        activation = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
        return ACTIVATIONS[self.activation](activation)

    def __repr__(self) -> str:
        kind = "ReLU" if self.activation == "relu" else self.activation.capitalize()
        return f"{kind}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons that see the same `nin` inputs; further arguments go to each Neuron.

    >>> Layer(3, 2, activation="tanh")
    Layer of [TanhNeuron(3), TanhNeuron(3)]
    """

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        if nout < 1:
            raise ValueError(f"a Layer needs at least one neuron, got nout={nout}")
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Sequence[Any] | Value) -> Any:
        """The list of the neurons' outputs; of a layer of one neuron, its output alone."""
        x = _inputs(x)
        out = [neuron(x) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(neuron) for neuron in self.neurons)}]"


class MLP(Module):
    """A multi-layer perceptron: `nin` inputs, then layers of the sizes in `nouts`, the last linear.

    Args:
        nin: number of inputs.
        nouts: number of neurons of each layer; the last is the number of outputs.
        activation: that of all layers but the last: 'relu', 'tanh', 'sigmoid' or 'linear'.

    >>> MLP(3, [2, 1], activation="tanh")
    MLP of [Layer of [TanhNeuron(3), TanhNeuron(3)], Layer of [LinearNeuron(2)]]
    """

    def __init__(self, nin: int, nouts: Sequence[int], activation: str = "relu") -> None:
        if not nouts:
            raise ValueError("an MLP needs at least one layer, got nouts=[]: [1] is one neuron")
        sizes = [nin, *nouts]
        self.layers = [
            Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1, activation=activation)
            for i in range(len(nouts))
        ]

    def __call__(self, x: Sequence[Any] | Value) -> Any:
        """The outputs of the last layer: a list, or a single Value if that has one neuron."""
        for layer in self.layers:
            x = layer(x)
        return x

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"


def _inputs(x: Any) -> Any:
    if hasattr(x, "__len__"):
        return x
    return tuple(x) if isinstance(x, Iterable) else (x,)


def _values_in(thing: Any, name: str, attributes: bool = False) -> Iterator[tuple[str, Value]]:
    if isinstance(thing, Value):
        yield name, thing
    elif isinstance(thing, Module):
        yield from _values_in(vars(thing), f"{name}.", attributes=True)
    elif isinstance(thing, Mapping):
        for key, entry in thing.items():
            yield from _values_in(entry, f"{name}{key}" if attributes else f"{name}[{key!r}]")
    elif isinstance(thing, (list, tuple)):
        for i, entry in enumerate(thing):
            yield from _values_in(entry, f"{name}[{i}]")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "none") + more
