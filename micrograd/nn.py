"""Neurons, layers and networks, built from Values alone.

A neuron computes activation(w1 x1 + ... + wn xn + b). A layer is a list of neurons with the same
inputs, and a multi-layer perceptron (MLP) is a sequence of layers. Names, signatures, reprs and the
order of random numbers match Karpathy's micrograd, so programs written for it print the same
numbers here.

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
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from micrograd.arithmetic import as_number
from micrograd.engine import Value, innermost
from micrograd.shapes import shape_of


def _linear(value: Value) -> Value:
    return value


ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "relu": Value.relu,
    "tanh": Value.tanh,
    "sigmoid": Value.sigmoid,
    "linear": _linear,
}
# What a drawing shows of a neuron: path in the module, weights, bias, name of the activation.
NeuronParts = tuple[str, list[Value], Value | None, str]

_edits = itertools.count(1)


class Module:
    """The base class of models; a subclass sets attributes and defines `forward` or `__call__`.

    The parameters of a model are the Values among its attributes and the parameters of the Modules
    among them. Both may also be in lists, tuples, dicts and NumPy arrays.

    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope, self.bias = Value(2.0), Value(1.0)
    ...     def forward(self, x):
    ...         return self.slope * x + self.bias
    >>> Line()(3.0).data
    7.0
    >>> Line().state_dict()
    {'slope': 2.0, 'bias': 1.0}
    """

    edits = 0  # changes whenever an attribute of any module is set; compiled functions check it

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        Module.edits = next(_edits)  # a new number each time, even with several threads

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        Module.edits = next(_edits)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs that `forward` returns."""
        return self.forward(*inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The outputs for the given inputs; subclasses define this method.

        Raises:
            NotImplementedError: the class does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither forward nor __call__")

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """A pair (name, module) for every module, `('', self)` first.

        The name is what one would write after `model.` to get the module.

        >>> [name for name, _ in Layer(1, 2).named_modules()]
        ['', 'neurons[0]', 'neurons[1]']
        """
        seen: set[int] = set()
        waiting: list[tuple[str, Module]] = [("", self)]
        while waiting:
            name, module = waiting.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module
                below = _found(Module, vars(module), f"{name}." if name else "", attributes=True)
                waiting += reversed(list(below))

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """A pair (name, parameter) for every parameter.

        The name is what one would write after `model.` to get it. A module's own parameters come
        before those of the modules inside it, as in PyTorch. Results of operations do not count, so
        a model may keep its last output.

        >>> [name for name, p in Layer(1, 2).named_parameters()]
        ['neurons[0].w[0]', 'neurons[0].b', 'neurons[1].w[0]', 'neurons[1].b']
        """
        seen: set[Value] = set()
        for prefix, module in self.named_modules():
            start = f"{prefix}." if prefix else ""
            for name, value in _found(Value, vars(module), start, attributes=True):
                if value not in seen and not value._prev:
                    seen.add(value)
                    yield name, value

    def parameters(self) -> list[Value]:
        """All parameters, in the order of the attributes.

        >>> len(Layer(3, 2).parameters())
        8
        """
        return [p for _, p in self.named_parameters()]

    def zero_grad(self) -> None:
        """Resets all gradients to 0; otherwise the next backward pass would add to them.

        >>> neuron = Neuron(1)
        >>> neuron.b.grad = 5.0
        >>> neuron.zero_grad()
        >>> neuron.b.grad
        0
        """
        for p in self.parameters():
            p.grad = 0

    def summary(self) -> str:
        """A table of the parts of this module, one per line, with the number of parameters in each.

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
        """A dict that maps each parameter's name to its data, for saving a trained model."""
        return {name: p.data for name, p in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the data of all parameters from a `state_dict()`; on an error, none is changed.

        Entries may also be Values, as in `dict(model.named_parameters())`: their data is copied.

        Raises:
            ValueError: the names in `state` are not exactly the names of the parameters.
            TypeError: `state` is not a dict, or an entry is not a number.

        >>> a, b = Neuron(2), Neuron(2)
        >>> b.load_state_dict(a.state_dict())
        >>> a.state_dict() == b.state_dict()
        True
        """
        parameters = dict(self.named_parameters())
        _check_names(parameters, state, type(self).__name__)
        data = _numbers(state)
        for name, p in parameters.items():
            p.data = data[name]


class Neuron(Module):
    """activation(w1 x1 + ... + wn xn + b), with weights drawn uniformly from [-1, 1) and bias 0.

    Args:
        nin: number of inputs.
        nonlin: False makes the neuron linear, regardless of `activation`.
        activation: 'relu', 'tanh', 'sigmoid' or 'linear'.

    >>> neuron = Neuron(2)
    >>> neuron.w[0].data, neuron.w[1].data, neuron.b.data = 3.0, -1.0, 0.5
    >>> neuron([1.0, 2.0]).data
    1.5
    """

    def __init__(self, nin: int, nonlin: bool = True, activation: str = "relu") -> None:
        _check_size("Neuron", "nin", nin)
        _check_activation(activation)
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.activation = activation if nonlin else "linear"
        self.nonlin = self.activation != "linear"

    def __call__(self, x: Any, *more: Any) -> Any:
        """The output for a list of n inputs, numbers or Values; a single input needs no list.

        For a batch of shape (m, n) the result is an array of m outputs.
        """
        if _is_batch(x):
            return _stacked([self(row) for row in x])
        x = _values(x, *more)
        return _noted([self._output(x)], self, x)[0]

    def _output(self, x: list[Value]) -> Value:
        if len(x) != len(self.w):
            raise ValueError(
                f"Neuron expects {len(self.w)} inputs, got {len(x)}: "
                f"build its layer with nin={len(x)}, or pass {len(self.w)} inputs"
            )
        total = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
        return ACTIVATIONS[self.activation](total)

    def _neurons(self) -> list[NeuronParts]:
        return [("", self.w, self.b, self.activation)]

    def __repr__(self) -> str:
        kind = "ReLU" if self.activation == "relu" else self.activation.capitalize()
        return f"{kind}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons with the same `nin` inputs; further arguments are passed to each Neuron.

    >>> Layer(3, 2, activation="tanh")
    Layer of [TanhNeuron(3), TanhNeuron(3)]
    """

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        _check_size("Layer", "nout", nout)
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Any, *more: Any) -> Any:
        """A list of the neurons' outputs, or a single output if the layer has one neuron.

        For a batch of shape (n, nin) the result is an array of shape (n, nout).
        """
        if _is_batch(x):
            return _stacked([self(row) for row in x], len(self.neurons))
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
    """A multi-layer perceptron: `nin` inputs, then layers of sizes `nouts`.

    Args:
        nin: number of inputs.
        nouts: number of neurons in each layer; the last is the number of outputs.
        activation: 'relu', 'tanh', 'sigmoid' or 'linear', for all layers except the last.
        output: the activation of the last layer.

    >>> MLP(3, [2, 1], activation="tanh")
    MLP of [Layer of [TanhNeuron(3), TanhNeuron(3)], Layer of [LinearNeuron(2)]]
    """

    def __init__(
        self, nin: int, nouts: Sequence[int], activation: str = "relu", output: str = "linear"
    ) -> None:
        if not isinstance(nouts, Iterable):
            given = [size for size in (nouts, activation) if not isinstance(size, str)]
            raise TypeError(f"MLP expects the sizes of its layers in a list, got {nouts!r}: write "
                            f"MLP({nin}, {given})")  # fmt: skip
        if not len(nouts):
            raise ValueError(
                "MLP expects at least one layer, got nouts=[]: pass [1] for one neuron"
            )
        _check_activation(activation)
        activations = [activation] * (len(nouts) - 1) + [output]
        self.layers = [
            Layer(n_in, n_out, activation=name)
            for n_in, n_out, name in zip([nin, *nouts], nouts, activations, strict=False)
        ]

    def __call__(self, x: Any, *more: Any) -> Any:
        """The outputs of the last layer: a list, or a single Value if it has one neuron.

        For a batch of shape (n, nin) the result is an array of shape (n, number of outputs).
        """
        if _is_batch(x):
            return _stacked([self(row) for row in x], len(self.layers[-1].neurons))
        x = _values(x, *more) if more else x
        for layer in self.layers:
            x = layer(x)
        return x

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"


class Linear(Module):
    """The affine map y = W x + b, initialised as in PyTorch; its output is always a list.

    Args:
        n_in: number of inputs.
        n_out: number of outputs.
        bias: False leaves out b, so that y = W x.

    Attributes:
        weight: n_out rows of n_in Values, drawn uniformly from [-c, c] with c = 1 / sqrt(n_in).
        bias: n_out Values, drawn from the same interval; [] without bias.

    >>> layer = Linear(2, 1)
    >>> layer.load_state_dict({"weight[0][0]": 3.0, "weight[0][1]": -1.0, "bias[0]": 0.5})
    >>> layer([1.0, 2.0])
    [Value(data=1.5, grad=0)]
    """

    def __init__(self, n_in: int, n_out: int, bias: bool = True) -> None:
        _check_size("Linear", "n_in", n_in)
        _check_size("Linear", "n_out", n_out)
        bound = n_in**-0.5
        self.weight = [
            [Value(random.uniform(-bound, bound)) for _ in range(n_in)] for _ in range(n_out)
        ]
        self.bias = [Value(random.uniform(-bound, bound)) for _ in range(n_out if bias else 0)]

    def __call__(self, x: Any, *more: Any) -> Any:
        """The list of n_out outputs for n_in inputs, numbers or Values.

        For a batch of shape (n, n_in) the result is an array of shape (n, n_out).
        """
        if _is_batch(x):
            return _stacked([self(row) for row in x], len(self.weight))
        x = _values(x, *more)
        n_in = len(self.weight[0])
        if len(x) != n_in:
            raise ValueError(f"Linear expects {n_in} inputs, got {len(x)}: build it as Linear"
                             f"({len(x)}, {len(self.weight)}), or pass {n_in} inputs")  # fmt: skip
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
    """A module that applies 'relu', 'tanh', 'sigmoid' or 'linear' to each of its inputs.

    >>> Activation("relu")([Value(-1.0), Value(2.0)])
    [Value(data=0.0, grad=0), Value(data=2.0, grad=0)]
    """

    def __init__(self, name: str) -> None:
        _check_activation(name)
        self.name = name

    def __call__(self, x: Any) -> Any:
        """The list of outputs, one for each input; for a batch, an array of the same shape."""
        if _is_batch(x):
            return _stacked([self(row) for row in x], shape_of(x)[1])
        inputs = _values(x)
        if self.name == "linear":  # the inputs are the outputs; other modules computed them
            return inputs
        return _noted([ACTIVATIONS[self.name](xi) for xi in inputs], self, inputs)

    def __repr__(self) -> str:
        return (
            f"Activation({self.name!r})" if type(self) is Activation else f"{type(self).__name__}()"
        )


class ReLU(Activation):
    """max(0, x) for each input x."""

    def __init__(self) -> None:
        super().__init__("relu")


class Tanh(Activation):
    """tanh(x) for each input x."""

    def __init__(self) -> None:
        super().__init__("tanh")


class Sigmoid(Activation):
    """1 / (1 + e^-x) for each input x."""

    def __init__(self) -> None:
        super().__init__("sigmoid")


class Sequential(Module):
    """Modules in sequence: each is called with the output of the one before it.

    >>> model = Sequential(Linear(2, 8), Activation("tanh"), Linear(8, 1))
    >>> len(model.parameters()), len(model([0.5, -0.5]))
    (33, 1)
    """

    def __init__(self, *modules: Callable[[Any], Any]) -> None:
        for module in modules:
            if not callable(module):
                raise TypeError(f"Sequential expects modules, got {module!r:.60}: "
                                "for a list of layers, write Sequential(*layers)")  # fmt: skip
        self.modules = list(modules)

    def __call__(self, x: Any) -> Any:
        """The output of the last module; for a batch, an array with a row for each example."""
        if _is_batch(x):
            rows = [self(row) for row in x]
            return _stacked(rows, *shape_of(rows[0] if rows else []))
        for module in self.modules:
            x = module(x)
        return x

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.modules))})"


def Parameter(data: Any) -> Any:  # noqa: N802  # PyTorch's name
    """A Value for a number, or an array of Values for an array, to use as a Module's attribute.

    >>> Parameter(2.0), Parameter([1.0, 2.0]).data
    (Value(data=2.0, grad=0), array([1., 2.]))
    """
    if not shape_of(data):
        return Value(data)
    from micrograd.arrays import values  # imports NumPy, which single numbers do not need

    return values(data)


def layers_of(model: Any) -> list[Any]:
    """The layers of a model in the order in which they run, also those in MLPs and Sequentials.

    >>> layers_of(Sequential(MLP(2, [1]), Sequential(Activation("tanh"), Linear(1, 3))))
    [Layer of [LinearNeuron(2)], Activation('tanh'), Linear(1, 3)]
    """
    if isinstance(model, (MLP, Sequential)):
        parts = model.layers if isinstance(model, MLP) else model.modules
        return [layer for part in parts for layer in layers_of(part)]
    return [model]


# ---- accuracy and confusion matrix


def predicted_class(scores: Any, threshold: float = 0.0) -> int:
    """The index of the largest score; for a single score, 1 if it is above the threshold, else 0.

    >>> predicted_class([0.1, 2.0, -1.0]), predicted_class(Value(0.3)), predicted_class(-0.3)
    (1, 1, 0)

    Raises:
        ValueError: a score is NaN, which cannot be compared.
    """
    several = scores if hasattr(scores, "__len__") else [scores]
    if not all(score <= score for score in several):  # False for NaN
        raise ValueError(
            "expected scores that are numbers, got NaN: training may have diverged; try a lower "
            "learning rate"
        )
    if len(several) == 1:
        return int(several[0] > threshold)
    return max(range(len(several)), key=lambda k: several[k])


def accuracy(scores: Iterable[Any], labels: Iterable[int], threshold: float = 0.0) -> float:
    """The fraction of examples whose predicted class equals the label.

    Args:
        scores: for each example, one score per class, or a single score.
        labels: class indices; with single scores, -1 counts as class 0.
        threshold: a single score above it means class 1; use 0.5 for probabilities.

    Raises:
        ValueError: a score is NaN, a label is not one of the classes, there are no examples, or the
            numbers of scores and labels differ.

    >>> accuracy([Value(2.0), Value(-1.0), Value(0.5)], [1, -1, -1])
    0.6666666666666666
    """
    pairs = _pairs(scores, labels, threshold)
    return sum(predicted == label for predicted, label in pairs) / len(pairs)


def confusion(scores: Iterable[Any], labels: Iterable[int], classes: int = 2) -> list[list[int]]:
    """A table of counts: row i, column j counts the examples of class i predicted as class j.

    `scores`, `labels` and the errors are as in `accuracy`; `classes` is the number of classes.

    >>> confusion([Value(2.0), Value(-1.0), Value(0.5)], [1, 0, 0])
    [[1, 1], [0, 1]]
    """
    pairs = _pairs(scores, labels)
    largest = max(max(pair) for pair in pairs)
    if largest >= classes:
        raise ValueError(
            f"confusion expects classes below {classes}, got {largest}: pass classes={largest + 1}"
        )
    counts = [[0] * classes for _ in range(classes)]
    for predicted, label in pairs:
        counts[label][predicted] += 1
    return counts


def _pairs(
    scores: Iterable[Any], labels: Iterable[int], threshold: float = 0.0
) -> list[tuple[int, int]]:
    scores, labels = list(scores), list(labels)
    if len(scores) != len(labels) or not labels:
        raise ValueError(
            f"expected one label for each score, and at least one, got {len(labels)} labels for "
            f"{len(scores)} scores"
        )
    return [
        (predicted_class(s, threshold), _class_index(label, len(s) if hasattr(s, "__len__") else 1))
        for s, label in zip(scores, labels, strict=True)
    ]


def _class_index(label: Any, scores: int) -> int:
    known = range(scores) if scores > 1 else (0, 1, -1)
    if label not in known:
        classes = f"0 to {scores - 1} for {scores} scores" if scores > 1 else "0 and 1, or -1 and 1"
        raise ValueError(f"expected the labels {classes}, got {label!r}: pass class indices")
    return max(0, int(label))


def _check_size(module: str, name: str, size: Any) -> None:
    if not hasattr(size, "__index__"):
        raise TypeError(f"{module} expects {name} to be an int, got {size!r}")
    if size < 1:
        raise ValueError(f"{module} expects {name} to be at least 1, got {size}")


def _check_activation(name: str) -> None:
    if name not in ACTIVATIONS:
        raise ValueError(f"activation {name!r} is not one of {', '.join(ACTIVATIONS)}")


def _inputs(x: Any) -> Any:
    if hasattr(x, "__len__"):
        return x
    return tuple(x) if isinstance(x, Iterable) else (x,)


def _values(x: Any, *more: Any) -> list[Value]:
    # Converts each number once, so that all neurons share one Value for it.
    if more:
        given = [xi.data if isinstance(xi, Value) else xi for xi in (x, *more)]
        raise TypeError(f"expected one list of inputs, got {len(given)} arguments: pass {given}")
    return [xi if isinstance(xi, Value) else Value(xi) for xi in _inputs(x)]


def _is_batch(x: Any) -> bool:
    axes = getattr(x, "ndim", None)
    if axes is None:  # a list may be long: check only its first element
        axes = 1
        while isinstance(x, (list, tuple)) and x:
            x = x[0]
            axes += 1 if isinstance(x, (list, tuple)) else getattr(x, "ndim", 0)
    if axes > 2:
        raise ValueError(
            f"expected the inputs of one example, or a batch of shape (n, n_in), got {axes} axes"
        )
    return bool(axes == 2)


def _stacked(rows: list[Any], *shape: int) -> Any:
    # Each row is a list of outputs, or a single output.
    from micrograd.arrays import as_array  # imports NumPy, which single examples do not need

    if not rows:
        raise ValueError("expected at least one example, got an empty batch")
    return as_array(rows, (len(rows), *shape))


def _noted(out: list[Value], module: Module, x: list[Value]) -> list[Value]:
    # Notes which module made a result, and from which inputs; drawings use this to group nodes. The
    # results of a call share one tuple, because Python's garbage collector visits every tuple.
    if out and out[0]._prev:  # under no_grad() a result must not keep its inputs alive
        note = (module, *x)
        for result in out:
            result._made_by = note  # type: ignore[attr-defined]
    return out


def _found(
    kind: Any, thing: Any, name: str, attributes: bool = False, around: tuple[Any, ...] = ()
) -> Iterator[tuple[str, Any]]:
    # `around` holds the enclosing objects: following a reference back to one would loop forever.
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
        elif not isinstance(entry, Module):  # named_modules() visits Modules
            yield from _found(kind, entry, place, around=(*around, thing))


def _check_names(parameters: Mapping[str, Value], state: Any, module: str) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(
            "load_state_dict expects a dict of names and numbers, got "
            f"{type(state).__name__} {state!r:.40}: pass what state_dict() returned"
        )
    missing = [name for name in parameters if name not in state]
    unknown = [name for name in state if name not in parameters]
    if missing or unknown:
        raise ValueError(
            f"this {module} expects {len(parameters)} parameters, got {len(state)}: "
            f"missing {_some(missing)}, unknown {_some(unknown)}; build the model with the sizes "
            "that it had when it was saved"
        )


def _numbers(state: Mapping[str, Any]) -> dict[str, Any]:
    data = {name: as_number(innermost(entry)) for name, entry in state.items()}
    wrong = [name for name, number in data.items() if number is NotImplemented]
    if wrong:
        got = f"{type(state[wrong[0]]).__name__} {state[wrong[0]]!r:.40}"
        raise TypeError(f"load_state_dict expects numbers, got {got} at {_some(wrong)}: convert "
                        "each with float()")  # fmt: skip
    return data


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "none") + more


if not TYPE_CHECKING:  # a type checker should find names that do not exist

    def __getattr__(name: str) -> Any:
        return sys.modules[__package__].__getattr__(f"nn.{name}")
