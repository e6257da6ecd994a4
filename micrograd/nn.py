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

import itertools
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
# What a drawing asks a module about each of its neurons: where it is, weights, bias, activation.
NeuronParts = tuple[str, list[Value], Value | None, str]


_edits = itertools.count(1)


class Module:
    """What has parameters: the Values among its attributes, and those of the Modules among them.

    A subclass sets attributes and defines `__call__`; lists, tuples, dicts and NumPy arrays of
    Values or Modules count as well.

    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope, self.bias = Value(2.0), Value(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.bias
    >>> Line().state_dict()
    {'slope': 2.0, 'bias': 1.0}
    """

    edits = 0  # changes when an attribute of any module is set: compiled functions look here

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        Module.edits = next(_edits)  # never the same number twice, whatever other threads do

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        Module.edits = next(_edits)

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """Pairs of a name, as one would type it after `model.`, and a parameter; each one once.

        Results of operations are no parameters, should a model keep its last output, say.

        >>> [name for name, p in Layer(1, 2).named_parameters()]
        ['neurons[0].w[0]', 'neurons[0].b', 'neurons[1].w[0]', 'neurons[1].b']
        """
        seen: set[Value] = set()
        for name, value in _found(Value, vars(self), "", attributes=True):
            if value not in seen and not value._prev:
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

    def summary(self) -> str:
        """A table of the parts of this module, one a line, with the number of their parameters.

        >>> print(MLP(2, [3, 1]).summary())
        part       kind                parameters
        layers[0]  Layer of 3 neurons           9
        layers[1]  Layer of 1 neuron            4
        total                                  13
        """
        parts = [
            (name, module._kind(), len(module.parameters()))
            for name, module in _found(Module, vars(self), "", attributes=True)
        ]
        rows = [*parts, ("total", "", len(self.parameters()))]
        name_width = max(len(name) for name, *_ in rows)
        kind_width = max(len(kind) for _, kind, _ in rows)
        head = f"{'part':{name_width}}  {'kind':{kind_width}}  parameters"
        lines = [f"{name:{name_width}}  {kind:{kind_width}}  {n:>10,}" for name, kind, n in rows]
        return "\n".join([head, *lines])

    def _neurons(self) -> list[NeuronParts]:
        return []

    def _kind(self) -> str:
        return repr(self) if type(self).__repr__ is not object.__repr__ else type(self).__name__

    def state_dict(self) -> dict[str, Any]:
        """The data of all parameters by name: what is worth saving of a trained model."""
        return {name: p.data for name, p in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the data of all parameters from what `state_dict()` gave; all of them or none.

        Of a Value, as `dict(model.named_parameters())` holds them, the number is copied.

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
        data = {name: as_number(_number_in(entry)) for name, entry in state.items()}
        wrong = [name for name, number in data.items() if number is NotImplemented]
        if wrong:
            got = f"{type(state[wrong[0]]).__name__} {state[wrong[0]]!r:.40}"
            raise TypeError(f"the state expects numbers, got {got} at {_some(wrong)}")
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
        _check_size("Neuron", "nin", nin)
        if nin < 1:
            raise ValueError(f"a Neuron needs at least one input, got nin={nin}")
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.activation = activation if nonlin else "linear"
        self.nonlin = self.activation != "linear"

    def __call__(self, x: Any, *more: Any) -> Value:
        """The output for n inputs, numbers or Values; for n = 1 the input may stand alone."""
        x = _values(x, *more)
        return _noted([self._output(x)], self, x)[0]

    def _output(self, x: list[Value]) -> Value:
        if len(x) != len(self.w):
            raise ValueError(
                f"Neuron expects {len(self.w)} inputs, got {len(x)}: "
                f"was its layer built with nin={len(x)}?"
            )
        total = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
        return ACTIVATIONS[self.activation](total)

    def _neurons(self) -> list[NeuronParts]:
        return [("", self.w, self.b, self.activation)]

    def __repr__(self) -> str:
        kind = "ReLU" if self.activation == "relu" else self.activation.capitalize()
        return f"{kind}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons that see the same `nin` inputs; further arguments go to each Neuron.

    >>> Layer(3, 2, activation="tanh")
    Layer of [TanhNeuron(3), TanhNeuron(3)]
    """

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        _check_size("Layer", "nout", nout)
        if nout < 1:
            raise ValueError(f"a Layer needs at least one neuron, got nout={nout}")
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Any, *more: Any) -> Any:
        """The list of the neurons' outputs; of a layer of one neuron, its output alone."""
        x = _values(x, *more)
        out = _noted([neuron._output(x) for neuron in self.neurons], self, x)
        return out[0] if len(out) == 1 else out

    def _neurons(self) -> list[NeuronParts]:
        return [
            (f".neurons[{i}]", w, b, activation)
            for i, neuron in enumerate(self.neurons)
            for _, w, b, activation in neuron._neurons()
        ]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(neuron) for neuron in self.neurons)}]"

    def _kind(self) -> str:
        return f"Layer of {len(self.neurons)} neuron{'s' * (len(self.neurons) != 1)}"


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
        if not isinstance(nouts, Iterable):
            given = [size for size in (nouts, activation) if not isinstance(size, str)]
            raise TypeError(f"MLP expects the sizes of its layers in a list, got {nouts!r}: write "
                            f"MLP({nin}, {given})")  # fmt: skip
        if not len(nouts):
            raise ValueError("an MLP needs at least one layer, got nouts=[]: [1] is one neuron")
        sizes = [nin, *nouts]
        self.layers = [
            Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1, activation=activation)
            for i in range(len(nouts))
        ]

    def __call__(self, x: Any, *more: Any) -> Any:
        """The outputs of the last layer: a list, or a single Value if that has one neuron."""
        x = _values(x, *more) if more else x
        for layer in self.layers:
            x = layer(x)
        return x

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"


class Linear(Module):
    """The affine map y = W x + b, initialised as in PyTorch, always with a list as its output.

    Args:
        n_in: number of inputs.
        n_out: number of outputs.
        bias: False for y = W x.

    Attributes:
        weight: n_out rows of n_in Values, uniform in +-1 / sqrt(n_in).
        bias: n_out Values, from the same interval; [] without bias.

    >>> layer = Linear(2, 1)
    >>> layer.load_state_dict({"weight[0][0]": 3.0, "weight[0][1]": -1.0, "bias[0]": 0.5})
    >>> layer([1.0, 2.0])
    [Value(data=1.5, grad=0)]
    """

    def __init__(self, n_in: int, n_out: int, bias: bool = True) -> None:
        _check_size("Linear", "n_in", n_in)
        _check_size("Linear", "n_out", n_out)
        if n_in < 1 or n_out < 1:
            raise ValueError(f"Linear expects n_in and n_out of at least 1, got {n_in} and {n_out}")
        bound = n_in**-0.5
        self.weight = [
            [Value(random.uniform(-bound, bound)) for _ in range(n_in)] for _ in range(n_out)
        ]
        self.bias = [Value(random.uniform(-bound, bound)) for _ in range(n_out if bias else 0)]

    def __call__(self, x: Any, *more: Any) -> list[Value]:
        """The n_out outputs for n_in inputs, numbers or Values."""
        x = _values(x, *more)
        n_in = len(self.weight[0])
        if len(x) != n_in:
            raise ValueError(f"Linear expects {n_in} inputs, got {len(x)}: build it as Linear"
                             f"({len(x)}, {len(self.weight)}) for these")  # fmt: skip
        products = [[w * xi for w, xi in zip(row, x, strict=True)] for row in self.weight]
        starts: list[Any] = self.bias or [0] * len(products)
        out = [sum(terms, start) for terms, start in zip(products, starts, strict=True)]
        return _noted(out, self, x)

    def _neurons(self) -> list[NeuronParts]:
        return [
            (f"[{i}]", row, self.bias[i] if self.bias else None, "linear")
            for i, row in enumerate(self.weight)
        ]

    def __repr__(self) -> str:
        return f"Linear({len(self.weight[0])}, {len(self.weight)})"


class Activation(Module):
    """A function applied to each of its inputs: 'relu', 'tanh', 'sigmoid' or 'linear'.

    >>> Activation("relu")([Value(-1.0), Value(2.0)])
    [Value(data=0.0, grad=0), Value(data=2.0, grad=0)]
    """

    def __init__(self, name: str) -> None:
        if name not in ACTIVATIONS:
            raise ValueError(f"activation {name!r} is not one of {', '.join(ACTIVATIONS)}")
        self.name = name

    def __call__(self, x: Any) -> list[Value]:
        """A list of as many outputs as inputs."""
        inputs = _values(x)
        if self.name == "linear":  # the inputs themselves, which are somebody else's results
            return inputs
        return _noted([ACTIVATIONS[self.name](xi) for xi in inputs], self, inputs)

    def __repr__(self) -> str:
        return f"Activation({self.name!r})"


class Sequential(Module):
    """Modules in a row, each fed with what the one before it returns.

    >>> model = Sequential(Linear(2, 8), Activation("tanh"), Linear(8, 1))
    >>> len(model.parameters()), len(model([0.5, -0.5]))
    (33, 1)
    """

    def __init__(self, *modules: Callable[[Any], Any]) -> None:
        for module in modules:
            if not callable(module):
                raise TypeError(f"Sequential expects modules, got {module!r:.60}: "
                                "write Sequential(*layers) for a list of layers")  # fmt: skip
        self.modules = list(modules)

    def __call__(self, x: Any) -> Any:
        """What the last module returns."""
        for module in self.modules:
            x = module(x)
        return x

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.modules))})"


# ---- how well a model does


def predicted_class(scores: Any) -> int:
    """The class that scores stand for: of several the index of the largest, of one score > 0.

    >>> predicted_class([0.1, 2.0, -1.0]), predicted_class(Value(0.3)), predicted_class(-0.3)
    (1, 1, 0)

    Raises:
        ValueError: a score is NaN, which is above or below no other.
    """
    several = scores if hasattr(scores, "__len__") else [scores]
    if not all(score <= score for score in several):  # NaN is not
        raise ValueError("expected scores that are numbers, got NaN: did training diverge?")
    if len(several) == 1:
        return int(several[0] > 0)
    return max(range(len(several)), key=lambda k: several[k])


def accuracy(scores: Iterable[Any], labels: Iterable[int]) -> float:
    """The fraction of examples whose predicted class is their label.

    Args:
        scores: of each example, a score for each class, or a single score with the boundary at 0.
        labels: class indices; -1 counts as class 0 beside single scores.

    Raises:
        ValueError: a score is NaN, a label is not one of the classes, or one of them is missing.

    >>> accuracy([Value(2.0), Value(-1.0), Value(0.5)], [1, -1, -1])
    0.6666666666666666
    """
    pairs = _pairs(scores, labels)
    return sum(predicted == label for predicted, label in pairs) / len(pairs)


def confusion(scores: Iterable[Any], labels: Iterable[int], classes: int = 2) -> list[list[int]]:
    """Counts of examples: row i, column j holds those of class i that were taken for class j.

    Arguments, and what it raises, are those of `accuracy`.

    >>> confusion([Value(2.0), Value(-1.0), Value(0.5)], [1, 0, 0])
    [[1, 1], [0, 1]]
    """
    pairs = _pairs(scores, labels)
    largest = max(max(pair) for pair in pairs)
    if largest >= classes:
        raise ValueError(f"confusion expects classes below {classes}, got {largest}: pass classes=")
    counts = [[0] * classes for _ in range(classes)]
    for predicted, label in pairs:
        counts[label][predicted] += 1
    return counts


def _pairs(scores: Iterable[Any], labels: Iterable[int]) -> list[tuple[int, int]]:
    scores, labels = list(scores), list(labels)
    if len(scores) != len(labels) or not labels:
        raise ValueError(f"expected a label for each score, got {len(labels)} labels for "
                         f"{len(scores)} scores")  # fmt: skip
    return [
        (predicted_class(s), _class_index(label, len(s) if hasattr(s, "__len__") else 1))
        for s, label in zip(scores, labels, strict=True)
    ]


def _class_index(label: Any, scores: int) -> int:
    known = range(scores) if scores > 1 else (0, 1, -1)
    if label not in known:
        classes = f"0 to {scores - 1}" if scores > 1 else "0 and 1, or -1 and 1,"
        raise ValueError(f"expected labels {classes} beside {scores} scores each, got {label!r}")
    return max(0, int(label))


def _number_in(x: Any) -> Any:
    while isinstance(x, Value):
        x = x.data
    return x


def _check_size(module: str, name: str, size: Any) -> None:
    if not hasattr(size, "__index__"):
        raise TypeError(f"{module} expects {name} to be an int, got {size!r}")


def _inputs(x: Any) -> Any:
    if hasattr(x, "__len__"):
        return x
    return tuple(x) if isinstance(x, Iterable) else (x,)


def _values(x: Any, *more: Any) -> list[Value]:
    # A number is made a Value once, and not a constant of its own in every neuron that it enters.
    if more:
        given = [xi.data if isinstance(xi, Value) else xi for xi in (x, *more)]
        raise TypeError(f"expected the inputs in one list, got {len(given)}: pass {given}")
    inputs = _inputs(x)
    try:
        return [xi if isinstance(xi, Value) else Value(xi) for xi in inputs]
    except TypeError:
        if not any(isinstance(xi, (list, tuple)) or getattr(xi, "ndim", 0) for xi in inputs):
            raise
    raise TypeError(
        "expected the inputs of one example, got a list of lists: for several examples write "
        "[model(x) for x in X], or use micrograd.compile"
    )


def _noted(out: list[Value], module: Module, x: list[Value]) -> list[Value]:
    # By this note drawings group the graph: which module made a result, from which inputs. The
    # results of a call share one tuple, as Python's collector visits every tuple that there is.
    if out and out[0]._prev:  # under no_grad() nobody may hold on to the inputs
        note = (module, *x)
        for result in out:
            result._made_by = note  # type: ignore[attr-defined]
    return out


def _found(
    kind: Any, thing: Any, name: str, attributes: bool = False, around: tuple[Any, ...] = ()
) -> Iterator[tuple[str, Any]]:
    # `around` is what encloses the thing: a child may know its parent, by self.parent = parent
    if isinstance(thing, Module):
        thing, name, attributes = vars(thing), f"{name}.", True
    elif str(getattr(thing, "dtype", "")) == "object":  # a NumPy array of Values
        thing = thing.tolist()
    if isinstance(thing, dict):
        places = [f"{name}{key}" if attributes else f"{name}[{key!r}]" for key in thing]
        entries = list(thing.values())
    elif isinstance(thing, (list, tuple)):
        places = [f"{name}[{i}]" for i in range(len(thing))]
        entries = list(thing)
    else:
        return
    if any(thing is outer for outer in around):
        return
    for place, entry in zip(places, entries, strict=True):
        if isinstance(entry, kind):
            yield place, entry
        else:
            yield from _found(kind, entry, place, around=(*around, thing))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "none") + more
