"""`Module`, the base class of models: its parameters, their names, saving and loading.

`PerExample` is the base class of the modules in `nn.py`: they compute the outputs of one example,
and a batch is one example after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, SupportsFloat, TypeVar, overload

from micrograd.core.node import innermost
from micrograd.core.numbers import Number
from micrograd.core.shapes import Numbers, flat, plain, shape_of
from micrograd.engine import Value

if TYPE_CHECKING:
    from micrograd.arrays import ValueArray

Out = TypeVar("Out")  # what a module returns for one example
_edits = itertools.count(1)


class Module:
    """The base class of models; a subclass sets attributes and defines `forward` or `__call__`.

    The parameters of a model are the Values among its attributes, and those of the Modules among
    them. Both may also be in lists, tuples, dicts and NumPy arrays.

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

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        Module.edits = next(_edits)  # a new number each time, even with several threads

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        Module.edits = next(_edits)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs that `forward` returns."""
        return self.forward(*inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The outputs for the given inputs; subclasses define this method."""
        raise NotImplementedError(f"{type(self).__name__} defines neither forward nor __call__")

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """A pair (name, module) for every module, `('', self)` first; the name is as in code.

        >>> from micrograd.nn import Layer
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
        """A pair (name, parameter) for every parameter; the name is what follows `model.` in code.

        A module's own parameters come before those of the modules inside it, as in PyTorch. Results
        of operations do not count, so a model may keep its last output.

        >>> from micrograd.nn import Layer
        >>> [name for name, p in Layer(1, 2).named_parameters()]
        ['neurons[0].w[0]', 'neurons[0].b', 'neurons[1].w[0]', 'neurons[1].b']
        """
        seen: set[Value] = set()
        for prefix, module in self.named_modules():
            start = f"{prefix}." if prefix else ""
            for name, value in _found(Value, vars(module), start, attributes=True):
                if value not in seen and value.is_leaf and value.requires_grad:
                    seen.add(value)
                    yield name, value

    def parameters(self) -> list[Value]:
        """All parameters, in the order of the attributes."""
        return [p for _, p in self.named_parameters()]

    def zero_grad(self) -> None:
        """Resets all gradients to 0; otherwise the next backward pass would add to them."""
        for p in self.parameters():
            p.grad = 0

    def summary(self) -> str:
        """A table of the parts of this module, with the number of parameters in each.

        >>> from micrograd.nn import MLP
        >>> print(MLP(2, [3, 1]).summary())
        part       kind                parameters
        layers[0]  Layer of 3 neurons           9
        layers[1]  Layer of 1 neuron            4
        total                                  13
        """
        rows = [("part", "kind", "parameters")]
        for name, module in _found(Module, vars(self), "", attributes=True):
            rows.append((name, module._kind(), f"{len(module.parameters()):,}"))
        rows.append(("total", "", f"{len(self.parameters()):,}"))
        names, kinds = (max(len(row[i]) for row in rows) for i in range(2))
        return "\n".join(f"{name:{names}}  {kind:{kinds}}  {n:>10}" for name, kind, n in rows)

    def _kind(self) -> str:
        return repr(self) if type(self).__repr__ is not object.__repr__ else type(self).__name__

    def state_dict(self) -> dict[str, Number]:
        """A dict that maps each parameter's name to its data, for saving a trained model."""
        return {name: p.data for name, p in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, SupportsFloat]) -> None:
        """Sets the data of all parameters from a `state_dict()`; on an error, none is changed."""
        parameters = dict(self.named_parameters())
        if state.keys() != parameters.keys():
            missing = [name for name in parameters if name not in state][:3]
            unknown = [name for name in state if name not in parameters][:3]
            expected = f"{type(self).__name__} expects a state_dict of {len(parameters)} numbers"
            got = f"got {len(state)}: missing {missing}, unknown {unknown!r:.60}"
            raise ValueError(f"{expected}, {got}; build it with the sizes that it had when saved")
        data = {name: Value(innermost(number)).data for name, number in state.items()}
        for name, p in parameters.items():
            p.data = data[name]


class PerExample(Module, Generic[Out]):
    """A Module whose `forward` takes one example, a list of Values.

    It is called with one example (a single number needs no list), or with a batch of shape
    (n, number of inputs), for which the results are stacked to an array.
    """

    n_out: int | None = None  # set where one output is a Value instead of a list of one
    gives_array = False  # whether the outputs of one example are an array, as those of a batch are

    @overload
    def __call__(self, x: Sequence[Sequence[SupportsFloat]], /) -> ValueArray: ...
    @overload
    def __call__(self, x: SupportsFloat | Sequence[SupportsFloat], /) -> Out: ...
    @overload
    def __call__(self, x: Numbers, /) -> Any: ...
    def __call__(self, x: Numbers, *more: object) -> Any:
        """The outputs of `forward`, for one example or for each row of a batch."""
        if more:
            raise TypeError("expected one list of inputs: write model([x1, x2])")
        axes = len(shape_of(x))
        if axes > 2:
            raise ValueError(f"expected one example or a batch (n, n_in), got {axes} axes")
        if axes == 2:
            rows = [self(row) for row in inputs_of(x)]
            return array_of(rows, len(rows), *([self.n_out] if self.n_out else shape_of(rows[0])))
        # Each number is converted once, so that all neurons share one Value for it.
        values = [xi if isinstance(xi, Value) else Value(xi) for xi in inputs_of(x)]
        out = self.forward(values)
        if out is not values:
            _note(out, self, values)
        return array_of(out) if self.gives_array and isinstance(out, list) else out


class ArrayModule(PerExample[Any]):
    """A PerExample that returns an array: `relu()`, `data` and `grad` work without a batch, too."""

    gives_array = True
    __call__: Callable[[Any, Numbers], ValueArray]  # type: ignore[assignment]  # and no overloads


def inputs_of(x: object) -> Any:
    """The inputs as something that has a length; a single number becomes a tuple."""
    x = plain(x)
    if hasattr(x, "__len__"):
        return x
    return tuple(x) if isinstance(x, Iterable) else (x,)


def array_of(values: Iterable[object], *shape: int) -> ValueArray:
    """An array of these Values, or of those in these rows, in the given shape; by default a row."""
    import numpy as np  # here, because a single Neuron does not need it

    from micrograd.arrays import ValueArray

    elements = flat(list(values))
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(shape or -1).view(ValueArray)


def _note(out: object, module: Module, x: list[Value]) -> None:
    # Notes on each result which module made it from which inputs; drawings group nodes by this. In
    # an MLP the layers have done so already. The results of a call share one tuple.
    results: list[Any] = out if isinstance(out, list) else [out]
    first = results[0] if results else None
    # under no_grad() a result must not keep its inputs alive
    if isinstance(first, Value) and first._prev and not hasattr(first, "_made_by"):
        note = (module, *x)
        for result in results:
            result._made_by = note


def _found(kind: Any, thing: Any, name: str, attributes: bool = False) -> Iterator[tuple[str, Any]]:
    # What is of this kind among the attributes, or in a list, dict or array, with its name.
    if str(getattr(thing, "dtype", "")) == "object":  # a NumPy array of Values
        thing = thing.tolist()
    if isinstance(thing, dict):
        entries = {f"{name}{k}" if attributes else f"{name}[{k!r}]": v for k, v in thing.items()}
    elif isinstance(thing, (list, tuple)):
        entries = {f"{name}[{i}]": entry for i, entry in enumerate(thing)}
    else:
        return
    for place, entry in entries.items():
        if isinstance(entry, kind):
            yield place, entry
        elif not isinstance(entry, Module):  # named_modules() visits Modules
            yield from _found(kind, entry, place)
