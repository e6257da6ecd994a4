"""The names of Values: long ones, as one would type them, and short ones for cards.

>>> from micrograd.nn import MLP
>>> model = MLP(1, [2, 1])
>>> names = Names({"model": model})
>>> w = model.layers[1].neurons[0].w[1]
>>> names.label_of[w], names.short(names.label_of[w])
('model.layers[1].neurons[0].w[1]', 'L1.n0.w1')
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from functools import cached_property
from numbers import Real
from typing import Any

from micrograd.core.origin import origin
from micrograd.engine import Value, topological_order
from micrograd.program.objects import PLAIN, found, is_array, values_in

LETTERS = {"layers": "L", "modules": "M", "neurons": "n", "weight": "w", "bias": "b"}
NUMBERED = re.compile(r"L\d+")  # a layer without a name, as `graph` calls it
PATH = re.compile(r"\w+(\[\w+\])*(\.\w+(\[\w+\])*)+")


class Names:
    """The names that a dict of variables gives to Values and arrays.

    Attributes:
        label_of: the name of each Value: its place in a model, list or array, such as `w[0]` or
            `model.layers[0].neurons[1].b`; but if all entries are variables, that of its variable.
            So after `for x in xs`, x is `xs[2]`. A list in which one entry is computed from another
            gives no names: it is an order.
        parameters: the Values that a model owns, or that are declared to be parameters.
        path_of: the path of each parameter in its model, whatever its label.
        arrays: pairs of a name and an array of numbers or Values.

    Args:
        variables: usually `locals()`; names that begin with `_` are ignored.
        parameters: Values, arrays, Modules, or lists of these.
        nodes: the nodes that need names; all, if it is empty.
    """

    def __init__(
        self,
        variables: Mapping[str, object] | None,
        parameters: object = (),
        nodes: Collection[Value] = (),
    ) -> None:
        if variables is not None and not isinstance(variables, Mapping):
            raise TypeError(
                f"names expects a dict from names to Values, got {type(variables).__name__}: use "
                'names=locals(), or names={"model": model}'
            )
        self.label_of: dict[Value, str] = {}
        self.arrays: list[tuple[str, Any]] = []
        self.parameters = set(values_in(parameters, "parameters"))
        self.path_of: dict[Value, str] = {}
        self._nodes = {*nodes}
        things = [(str(k), x) for k, x in [*(variables or {}).items()] if type(x) not in PLAIN]
        named = self._named = [pair for pair in things if not pair[0].startswith("_")]
        # The names of variables that are Values: the first one of each.
        self._variable = {x: name for name, x in reversed(named) if isinstance(x, Value)}
        for name, thing in named:
            self.add(thing, name)
        for value, name in self._variable.items():
            self._label(value, name)
        short = [_abbreviated(x) for v, x in self.label_of.items() if self.path_of.get(v) == x]
        self._distinct = len({*short}.difference(self.label_of.values())) == len(short)

    def add(self, thing: object, name: str, is_owned: bool = False) -> None:
        """Names what is in a thing; all of its leaves are parameters if a model owns it."""
        inside = list(found(thing, name, is_owned))
        values = {v for _, v, _ in inside if isinstance(v, Value)}
        known = values & self._nodes if self._nodes else values
        is_order = isinstance(thing, (list, tuple)) and any(
            x in known for v in topological_order(*known) for x in v._prev
        )
        names_none = is_order or all(v in self._variable for v in known)
        for label, value, is_owned in inside:
            if is_array(value):
                self.arrays.append((label, value))
            elif is_owned or ("." in label and not value._prev):
                if value.is_leaf and (value.requires_grad or value.is_frozen):
                    self.parameters.add(value)
                    self.path_of.setdefault(value, label)
                    self._label(value, self._variable.get(value, label) if names_none else label)
            elif not names_none:
                self._label(value, label)

    def _label(self, value: Value, label: str) -> None:
        if value in self._nodes or not self._nodes:
            self.label_of.setdefault(value, label)

    def of_numbers(self, thing: Any) -> str:
        """The name of a list or array of plain numbers, or of a row, such as `X[3]`; or ''."""
        if not is_array(thing) or id(thing) in self._name_of:
            return self._name_of.get(id(thing), "")
        for name, whole in self.arrays:
            if whole.shape[1:] == thing.shape and whole.strides[1:] == thing.strides:
                distance = thing.ctypes.data - whole.ctypes.data  # a row of it is a view
                place, rest = divmod(distance, whole.strides[0] or 1)
                if not rest and 0 <= place < len(whole):
                    return f"{name}[{place}]"
        return ""

    def of_constants(self, order: Sequence[Value], neurons: Iterable[Any]) -> dict[Value, str]:
        """The names of the plain numbers beside operators that come from lists or arrays.

        Nothing tells where such a number, or the leaf that another engine makes of it, comes from.
        But the inputs of a neuron are named like a row of equal numbers, and those in one place of
        three operations or more, such as the targets of all examples, like a list or a column.

        >>> ys = [1.0, -1.0, 2.0]
        >>> loss = sum((Value(3.0) - y) ** 2 for y in ys)
        >>> [*Names({"ys": ys}).of_constants(topological_order(loss), ()).values()]
        ['ys[0]', 'ys[1]', 'ys[2]']
        """
        uses = Counter(x for v in order for x in v._prev)
        single = {x for x, n in uses.items() if n == 1 and origin(x, "node") is not None}
        copied = {x for x in single if x.is_leaf and not x.label and x not in self.label_of}
        plain = copied.union(x for x in uses if x.is_constant)
        groups = [neuron.inputs for neuron in neurons if plain.issuperset(neuron.inputs)]
        places: dict[Any, list[Value]] = defaultdict(list)
        found: dict[Value, str] = {}
        for v in order:
            for k, x in enumerate(v._prev):
                if x in plain and v._op == "+" and x.data == 0:
                    found[x] = ""  # with which sum() began
                elif x in plain:
                    others = (o if o.is_leaf and uses[o] > 1 else o._op for o in v._prev)
                    places[v._op, k, *others].append(x)
        for group in (*groups, *(some for some in places.values() if len(some) > 2)):
            numbers = [x.data for x in group]
            # A loop may have been recorded from its last step; and p - y may be p + (-y).
            names = self._entries(numbers) or self._entries(numbers[::-1])[::-1]
            names = names or [f"-{name}" for name in self._entries([-x for x in numbers])]
            found = {**dict(zip(group, names, strict=False)), **found}
        return found

    def add_shared(self, order: Sequence[Value]) -> None:
        """Makes parameters of the leaves that every example uses, when nothing says what is one."""
        uses = Counter(x for v in order for x in v._prev if x.is_leaf and not x.is_constant)
        most = max(uses.values(), default=0)
        self.parameters |= {x for x in uses if uses[x] == most > 1}

    def _entries(self, numbers: list[Any]) -> list[str]:
        # What one types for each of these, if they are a whole list, a row or a column.
        n = len(numbers)
        lines = [(name, "", line) for name, line in self._lines if len(line) == n]
        tables = [(name, x) for name, _, x in lines if all(isinstance(row, Sized) for row in x)]
        for name, table in tables:
            columns = enumerate(zip(*table, strict=False))
            lines += [(name, f"[{j}]", column) for j, column in columns]
        for start, end, line in lines:
            if all(isinstance(x, Real) and x == y for x, y in zip(line, numbers, strict=True)):
                return [f"{start}[{k}]{end}" for k in range(n)]
        return []

    @cached_property
    def _lines(self) -> list[tuple[str, Any]]:
        # Lists and arrays, each with its rows; those with rows first: x may be a variable beside X.
        arrays = [pair for pair in self.arrays if pair[1].ndim]
        lists = [pair for pair in self._named if isinstance(pair[1], (list, tuple))]
        tables = [pair for pair in (*arrays, *lists) if len(pair[1])]
        tables.sort(key=lambda pair: not isinstance(pair[1][0], Sized))
        found: list[tuple[str, Any]] = []
        for name, table in tables:
            rows = ((f"{name}[{i}]", row) for i, row in enumerate(table) if isinstance(row, Sized))
            found += [(name, table), *rows]
        return found

    @cached_property
    def _name_of(self) -> dict[int, str]:
        return {id(line): name for name, line in reversed(self._lines)}

    def short(self, label: str) -> str:
        """The label of a part of a model, shortened: 'model.layers[0].neurons[1]' to 'L0.n1'.

        The name of the variable is kept if several models have a part with the same short name.

        >>> [*map(Names({}).short, ("net.blocks[0].weight[1][2]", "fc1.weight", "x[0]"))]
        ['blocks0.w1,2', 'fc1.weight', 'x[0]']
        """
        variable, _, attributes = label.partition(".")
        is_own = attributes.startswith(("weight", "bias")) and not NUMBERED.fullmatch(variable)
        if not PATH.fullmatch(label) or is_own:
            return label
        is_clear = self._distinct and not NUMBERED.fullmatch(variable)
        return _abbreviated(label) if is_clear else f"{variable}.{_abbreviated(label)}"


def _abbreviated(label: str) -> str:
    # 'model.layers[0].neurons[1].w[2]' becomes 'L0.n1.w2'
    parts = [re.findall(r"\w+", part) for part in label.split(".")[1:]]
    return ".".join(LETTERS.get(name, name) + ",".join(indices) for name, *indices in parts)
