"""`Module`, the base class of models, and `PerExample`, that of the modules in `nn.py`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, SupportsFloat, TypeVar, overload

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.node import as_value, frozen, innermost, of_leaf
from micrograd.core.origin import note, origin
from micrograd.core.shapes import Numbers, flat, plain, shape_of
from micrograd.engine import Value

if TYPE_CHECKING:
    from micrograd.arrays import ValueArray

Out = TypeVar("Out")  # what a module returns for one example


class Module:
    """The base class of models; a subclass sets attributes and defines `forward` or `__call__`.

    The parameters of a model are the Values among its attributes, and those of the Modules among
    them. Both may also be in lists, tuples, dicts and NumPy arrays. All leaves are trained, even
    data kept as `self.X = values(X)`: freeze it (`self.X.requires_grad = False`), or make each
    parameter an `nn.Parameter`: then no other leaves of the module are trained, with a warning.

    Numbers assigned to an attribute that holds leaves set their data, so they stay parameters.

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

    edits: object = None  # another one after each change of a module; compiled functions check it
    _trains: tuple[str, ...] = ()  # attributes that are trained, even if they hold no Parameter

    def __setattr__(self, name: str, value: object) -> None:
        if not _filled(name, vars(self).get(name), value):
            object.__setattr__(self, name, value)
        Module.edits = object()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        Module.edits = object()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs that `forward` returns."""
        return self.forward(*inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The outputs for the given inputs; subclasses define this method."""
        raise NotImplementedError(f"{type(self).__name__} defines neither forward nor __call__")

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """A pair (name, module) for every module, `('', self)` first; the name is as in code."""
        seen: set[int] = set()
        waiting: list[tuple[str, Module]] = [("", self)]
        while waiting:
            name, module = waiting.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module
                waiting += [(path, m) for _, path, m in _found(Module, module, name)][::-1]

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """A pair (name, parameter) for every parameter; the name is what follows `model.` in code.

        A module's own parameters come before those of the modules inside it, as in PyTorch. Results
        of operations do not count, so a model may keep its last output.

        >>> from micrograd.nn import Layer
        >>> [name for name, p in Layer(1, 2).named_parameters()]
        ['neurons[0].w[0]', 'neurons[0].b', 'neurons[1].w[0]', 'neurons[1].b']
        """
        return ((name, p) for p, name in self._named_leaves().items() if p.requires_grad)

    def _named_leaves(self) -> dict[Value, str]:
        # The names of the parameters, and of those that are frozen.
        names: dict[Value, str] = {}
        for prefix, module in self.named_modules():
            leaves = [x for x in _found(Value, module, prefix) if _is_trainable(x[2])]
            declares = any(v.is_declared for _, _, v in leaves)
            for attribute, name, v in leaves:
                if not declares or v.is_declared or attribute in module._trains:
                    names.setdefault(v, name)
                elif v.requires_grad:
                    what = f"{type(module).__name__}.{attribute} is not trained"
                    fix = "make it nn.Parameter(...), or set its requires_grad to False"
                    warnings.warn(f"{what}, others are: {fix}", stacklevel=3)
        return names

    def parameters(self) -> list[Value]:
        """All parameters, in the order of the attributes."""
        return [p for _, p in self.named_parameters()]

    @property
    def requires_grad(self) -> bool:
        """Whether no parameter is frozen; False freezes all of them, True undoes that."""
        return all(p.requires_grad for p in self._named_leaves())

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        for p in self._named_leaves():
            p.requires_grad = wanted

    def zero_grad(self) -> None:
        """Resets all gradients to 0; otherwise the next backward pass would add to them."""
        for p in self.parameters():
            p.grad = 0

    def state_dict(self) -> dict[str, Number]:
        """A dict of the data of all parameters by name, frozen ones too, for saving a model."""
        return {name: p.data for p, name in self._named_leaves().items()}

    def load_state_dict(self, state: Mapping[str, SupportsFloat]) -> None:
        """Sets the data of all parameters from a `state_dict()`; on an error, none is changed."""
        parameters = {name: p for p, name in self._named_leaves().items()}
        if state.keys() != parameters.keys():
            expected = f"{type(self).__name__} expects a state_dict of {len(parameters)} numbers"
            odd = sorted(state.keys() ^ parameters.keys(), key=str)[:3]
            got = f"got {len(state)}, missing or unknown: {odd!r:.60}"
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
        axes = len(shape := shape_of(x))
        if axes > 2:
            raise ValueError(f"expected one example or a batch (n, n_in), got {axes} axes")
        if axes == 2 or self.gives_array:
            from micrograd.arrays import values  # imports NumPy, which a Neuron does not need
        if axes == 2:
            rows = [self(row) for row in inputs_of(x)]
            if not rows and not self.n_out:
                raise ValueError(f"expected at least one example, got inputs of shape {shape}")
            return values(rows).reshape(-1, self.n_out) if self.n_out else values(rows)
        # Each number is converted once, so that all neurons share one Value for it.
        inputs = [*map(as_value, given := inputs_of(x))]
        for i, (value, xi) in enumerate(zip(inputs, given, strict=True)):
            if value is not xi:
                note(value, "numbers", (x, i))
        out = self.forward(inputs)
        made_by = (self, *inputs)  # a note for drawings, which group nodes by it
        results = out if isinstance(out, list) else [out]
        for v in results if out is not inputs else ():
            # In an MLP the layers have left it. Under no_grad() a result keeps no inputs alive.
            if isinstance(v, Value) and v._prev and not origin(v, "module"):
                note(v, "module", made_by)
        return values(out) if self.gives_array and isinstance(out, list) else out


def inputs_of(x: object) -> Any:
    """The inputs as something that has a length; a single number becomes a tuple."""
    x = plain(x)
    if hasattr(x, "__len__"):
        return x
    return tuple(x) if isinstance(x, Iterable) else (x,)


def _found(kind: type, module: Module, name: str) -> Iterator[tuple[str, str, Any]]:
    # What is of this kind in the attributes of a module with this name: attribute, name, thing.
    for attribute, value in vars(module).items():
        for path, thing in _entries(value, f"{name}.{attribute}" if name else attribute):
            if isinstance(thing, kind):
                yield attribute, path, thing


def _entries(thing: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    # What is in a list, dict or array of Values, also in those in it, with the name of each entry.
    if str(getattr(thing, "dtype", "")) == "object":  # an array of Values, perhaps without axes
        thing = thing.tolist()
    if isinstance(thing, (dict, list, tuple)):
        for key, entry in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from _entries(entry, f"{name}[{key!r}]")
    else:
        yield name, thing


def _is_trainable(v: Any) -> bool:
    return isinstance(v, Value) and v._chain_rule in (of_leaf, frozen) and not v._prev


def _filled(name: str, old: object, given: object) -> bool:
    # Sets the data of leaves to numbers; False if these are not leaves, or those are not numbers.
    leaves = [] if isinstance(old, dict) else [v for _, v in _entries(old)]
    numbers = [*map(_number, flat(given))] if all(map(_is_trainable, leaves)) else []
    if not leaves or not numbers or NotImplemented in numbers:
        return False
    if shape_of(old) != shape_of(given):
        raise ValueError(f"{name} expects numbers of shape {shape_of(old)}, got {shape_of(given)}")
    for v, number in zip(leaves, numbers, strict=True):
        v.data = number
    return True


def _number(x: object) -> Number:
    # A plain number, or that of a result without a graph, as in `with no_grad(): p = p * 0.5`.
    if isinstance(x, Value):
        return x.data if x.is_unrecorded else NotImplemented
    return as_number(x)
