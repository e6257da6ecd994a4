"""Neurons, layers and networks, built from Values alone.

A neuron with weights w, bias b and inputs x computes activation(w1 x1 + ... + wn xn + b). A layer
is a list of neurons with the same inputs, and a multi-layer perceptron (MLP) is a sequence of
layers. Names, signatures, reprs and the order of random numbers match Karpathy's micrograd.
`module.py` has what they share: their parameters, and `PerExample`, which makes the inputs Values.

    >>> MLP(2, [3, 1])([1.0, 2.0]).backward()
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from micrograd.core.hints import hinted
from micrograd.core.node import as_value
from micrograd.core.origin import note
from micrograd.core.shapes import Model, Numbers, plain, shape_of
from micrograd.engine import Value
from micrograd.module import Module as Module
from micrograd.module import PerExample, inputs_of

ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "relu": Value.relu,
    "tanh": Value.tanh,
    "sigmoid": Value.sigmoid,
    "linear": lambda value: value,
}


class Neuron(PerExample[Value]):
    """activation(w1 x1 + ... + wn xn + b), with weights drawn uniformly from [-1, 1) and bias 0.

    Args:
        nonlin: as in Karpathy's micrograd; False makes it linear. Or the name of an activation.
        activation: 'relu', 'tanh', 'sigmoid' or 'linear'.

    >>> neuron = Neuron(2)
    >>> neuron.w[0].data, neuron.w[1].data, neuron.b.data = 3.0, -1.0, 0.5
    >>> neuron([1.0, 2.0]).data
    1.5
    """

    _trains = "w", "b"

    def __init__(self, nin: int, nonlin: bool | str = True, activation: str = "relu") -> None:
        activation = nonlin if isinstance(nonlin, str) else activation
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.activation = activation if nonlin else "linear"
        self.nonlin = self.activation != "linear"

    def forward(self, x: list[Value]) -> Value:
        """The output for n inputs."""
        if len(x) != len(self.w):
            fix = f"build its layer with nin={len(x)}, or pass {len(self.w)}"
            raise ValueError(f"Neuron expects {len(self.w)} inputs, got {len(x)}: {fix}")
        total = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)  # b + w1 x1 + ...
        return ACTIVATIONS[self.activation](total)

    def __repr__(self) -> str:
        kind = "ReLU" if self.activation == "relu" else self.activation.capitalize()
        return f"{kind}Neuron({len(self.w)})"


class Layer(PerExample[Any]):
    """`nout` neurons with the same `nin` inputs; `kwargs` go to each, `init` to `start_weights`.

    >>> Layer(3, 2, activation="tanh")
    Layer of [TanhNeuron(3), TanhNeuron(3)]
    """

    def __init__(self, nin: int, nout: int, init: str = "uniform", **kwargs: Any) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]
        start_weights(self.neurons, init)

    n_out = property(lambda self: len(self.neurons))

    def forward(self, x: list[Value]) -> Value | list[Value]:
        """A list of the neurons' outputs, or a single output if the layer has one neuron."""
        # Not neuron(x): a call marks its results for drawings, and here the layer is the mark.
        out = [neuron.forward(x) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(neuron) for neuron in self.neurons)}]"


class MLP(PerExample[Any]):
    """A multi-layer perceptron: `nin` inputs, then layers of sizes `nouts`.

    Args:
        activation: 'relu', 'tanh', 'sigmoid' or 'linear', for all layers except the last.
        output: the activation of the last layer.
        init: how weights start: 'uniform', 'he' or 'xavier'; see `start_weights`.

    >>> MLP(3, [2, 1], activation="tanh")
    MLP of [Layer of [TanhNeuron(3), TanhNeuron(3)], Layer of [LinearNeuron(2)]]
    """

    def __init__(
        self,
        nin: int,
        nouts: Sequence[int],
        activation: str = "relu",
        output: str = "linear",
        init: str = "uniform",
    ) -> None:
        if not hasattr(nouts, "__iter__"):
            raise TypeError(f"MLP expects a list, got {nouts!r}: write MLP({nin}, [{nouts}])")
        sizes = [nin, *nouts]
        activations = [activation] * (len(sizes) - 2) + [output]
        self.layers = [
            Layer(n_in, n_out, init, activation=name)
            for n_in, n_out, name in zip(sizes[:-1], sizes[1:], activations, strict=True)
        ]

    n_out = property(lambda self: len(self.layers[-1].neurons))

    def forward(self, x: list[Value]) -> Value | list[Value]:
        """The outputs of the last layer: a list, or a single Value if it has one neuron."""
        for layer in self.layers:
            x = layer(x)  # a layer of one neuron returns one Value, which the next one takes, too
        return x

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"


def start_weights(neurons: Sequence[Neuron], init: str) -> None:
    """Draws the weights of the n_out neurons of a layer with n_in inputs; biases stay 0.

        'uniform'  from [-1, 1), as each Neuron has done already: good for a few inputs
        'he'       normal with variance 2 / n_in: for ReLU, half of whose outputs are 0
        'xavier'   uniform with variance 2 / (n_in + n_out): for tanh and sigmoid

    With the last two, outputs and gradients stay of one size from layer to layer, however wide.

    Source: He et al., "Delving Deep into Rectifiers" (2015), section 2.2; Glorot and Bengio,
    "Understanding the difficulty of training deep feedforward neural networks" (2010), eq. 16.
    """
    if init not in ("uniform", "he", "xavier"):
        raise ValueError(f"init {init!r} is not one of uniform, he, xavier")
    for neuron in neurons if init != "uniform" else ():
        n_in, n_out = len(neuron.w), len(neurons)
        bound = (6 / (n_in + n_out)) ** 0.5  # of a uniform distribution with Xavier's variance
        for w in neuron.w:
            is_he = init == "he"
            w.data = random.gauss(0, (2 / n_in) ** 0.5) if is_he else random.uniform(-bound, bound)


# ---- parameters, and modules whose outputs are arrays

if TYPE_CHECKING:
    from micrograd.arrays import ValueArray


class Parameter(Value):
    """A leaf that is trained, as an attribute of a Module; for an array, an array of such leaves.

    >>> Parameter(2.0), Parameter([1.0, 2.0]).data
    (Value(data=2.0, grad=0), array([1., 2.]))
    """

    __slots__ = ()
    is_declared = True

    def __new__(cls, data: Numbers = 0.0, label: str = "") -> Any:
        """A leaf with this number, or an array."""
        if not shape_of(data):
            return super().__new__(cls)
        import numpy as np  # here, because single numbers do not need it

        from micrograd.arrays import values

        return values(np.frompyfunc(cls, 1, 1)(np.asarray(data, dtype=object)), label)

    def __init__(self, data: Any = 0.0, label: str = "") -> None:
        super().__init__(as_value(data).data, label=label)


class ArrayModule(PerExample[Any]):
    """A PerExample that returns an array: `relu()`, `data` and `grad` work without a batch, too."""

    gives_array = True
    name = ""  # of the operation in drawings; by default, that of the class

    def __call__(self, x: Numbers, *more: object) -> ValueArray:
        """An array of the outputs, which remembers the inputs and parameters, for drawings."""
        from micrograd.arrays import ValueArray, values

        shape_of(x)  # an error for rows of different lengths
        inputs = x if isinstance(x, ValueArray) else values(plain(x))
        if inputs is not x:
            note(inputs, "numbers", plain(x))
        out: ValueArray = super().__call__(inputs, *more)
        if any(v._prev for v in out.flat):  # not under no_grad()
            arrays = (array for array in vars(self).values() if isinstance(array, ValueArray))
            note(out, "array", (self.name or type(self).__name__.lower(), (inputs, *arrays)))
        return out


class Linear(ArrayModule):
    """The affine map y = W x + b; its output is an array of Values.

    As in PyTorch, `weight`, an array of Values of shape (n_out, n_in), and `bias`, an array of
    n_out Values or None, are drawn uniformly from [-c, c] with c = 1 / sqrt(n_in).

    >>> Linear(2, 3)([1.0, 2.0]).shape
    (3,)
    """

    _trains = "weight", "bias"

    def __init__(self, n_in: int, n_out: int, bias: bool = True) -> None:
        from micrograd.arrays import values  # imports NumPy, which a Neuron does not need

        bound = n_in**-0.5
        rows = [[random.uniform(-bound, bound) for _ in range(n_in)] for _ in range(n_out)]
        self.weight = values(rows)
        self.bias = values([random.uniform(-bound, bound) for _ in range(n_out)]) if bias else None

    def forward(self, x: list[Value]) -> list[Value]:
        """The n_out outputs for n_in inputs."""
        n_out, n_in = self.weight.shape
        if len(x) != n_in:
            fix = f"build it as Linear({len(x)}, {n_out}), or pass {n_in}"
            raise ValueError(f"Linear expects {n_in} inputs, got {len(x)}: {fix}")
        starts = [0] * n_out if self.bias is None else self.bias.tolist()
        rows = zip(self.weight.tolist(), starts, strict=True)
        return [sum((w * xi for w, xi in zip(row, x, strict=True)), b) for row, b in rows]

    def __repr__(self) -> str:
        n_out, n_in = self.weight.shape
        return f"Linear({n_in}, {n_out})"


class Activation(ArrayModule):
    """A module that applies 'relu', 'tanh', 'sigmoid' or 'linear' to each of its inputs.

    >>> Activation("relu")([Value(-1.0), Value(2.0)]).data
    array([0., 2.])
    """

    def __init__(self, name: str = "") -> None:
        self.name = name or type(self).__name__.lower()  # a class below, such as ReLU
        if self.name not in ACTIVATIONS:
            raise ValueError(f"activation {name!r} is not one of {', '.join(ACTIVATIONS)}")

    def forward(self, x: list[Value]) -> list[Value]:
        """One output for each input."""
        # For "linear", the inputs are the outputs; other modules computed them.
        return x if self.name == "linear" else [ACTIVATIONS[self.name](xi) for xi in x]

    def __repr__(self) -> str:
        kind = type(self)
        return f"Activation({self.name!r})" if kind is Activation else f"{kind.__name__}()"


class ReLU(Activation):
    """max(0, x) for each input x."""


class Tanh(Activation):
    """tanh(x) for each input x."""


class Sigmoid(Activation):
    """1 / (1 + e^-x) for each input x."""


class Sequential(PerExample[Any]):
    """Modules in sequence: each is called with the output of the one before it.

    >>> model = Sequential(Linear(2, 8), Activation("tanh"), Linear(8, 1))
    >>> len(model.parameters()), len(model([0.5, -0.5]))
    (33, 1)
    """

    gives_array = True

    def __init__(self, *modules: Model) -> None:
        if not all(map(callable, modules)):
            fix = "for a list of layers, write Sequential(*layers)"
            raise TypeError(f"Sequential expects modules, got {modules!r:.60}: {fix}")
        self.modules = list(modules)

    def forward(self, x: Numbers) -> Numbers:
        """The output of the last module."""
        for module in self.modules:
            x = module(x)
        return x

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.modules))})"


# ---- accuracy


def accuracy(scores: Iterable[Numbers], labels: Iterable[float], threshold: float = 0.0) -> float:
    """The fraction of examples whose predicted class equals the label.

    Args:
        scores: for each example, one score per class, of which the largest wins; or a single score.
        labels: class indices; with single scores, -1 counts as class 0.
        threshold: a single score above it means class 1; use 0.5 for probabilities.

    >>> accuracy([Value(2.0), Value(-1.0), Value(0.5), Value(3.0)], [1, 0, 0, 1])
    0.75
    """
    scores, labels = list(plain(scores)), list(plain(labels))
    if len(scores) != len(labels) or not labels:
        raise ValueError(f"expected one label for each score, got {len(labels)} and {len(scores)}")
    right = 0
    for several, label in zip(map(inputs_of, scores), map(plain, labels), strict=True):
        n = len(several)
        if shape_of(label) or label not in (range(n) if n > 1 else (0, 1, -1)):
            known = f"0 to {n - 1} for {n} scores" if n > 1 else "0 and 1, or -1 and 1"
            fix = "write known = sorted(set(y)); y = [known.index(label) for label in y]"
            raise ValueError(f"expected the labels {known}, got {label!r}: {fix}")
        if not all(score <= score for score in several):  # False for NaN
            fix = "try a lower learning rate, or leave out rows of X with NaN"
            raise ValueError(f"expected scores, got NaN: training may have diverged; {fix}")
        guess = max(range(n), key=several.__getitem__) if n > 1 else several[0] > threshold
        right += int(guess == max(0, label))
    return right / len(labels)


globals()["__getattr__"] = hinted(__name__)  # not `def`: type checkers would accept any name
