"""`micrograd.compile`: a function of scalars that runs over a whole batch.

    >>> w = Value(2.0, label="w")
    >>> @compile
    ... def loss(x, y):
    ...     return (w * x - y) ** 2
    >>> batch = loss([1.0, 2.0, 3.0], [3.0, 3.0, 3.0])  # three examples
    >>> batch.data, batch.lanes
    (3.6666666666666665, array([1., 1., 9.]))
    >>> batch.backward()
    >>> w.grad
    6.666666666666666

The function is recorded when it is called with examples of a new shape, then each pass of the
compiler runs once; another number of examples runs the same program. `programs` holds what has been
compiled, `clear()` forgets it. What the function reads of its surroundings besides the data of
parameters is part of the program: constants, the structure of the model, the branches that Python
took. `guard.py` watches it, and after a change the next call compiles anew.

Results and gradients are those of eager mode, but for this:

    last bits       sums are added up in another order; sqrt and 1 / x stand for powers of a half
                    and of -1, which at -infinity makes x ** 0.5 NaN; numba has its own exp and
                    tanh; a sum or a relu of zeros may have another sign
    errors          where eager mode raises, as the logarithm of -1 does, a lane has the value of
                    IEEE arithmetic, NaN or infinite
    where, take     all sides are computed, and one that was not chosen receives the gradient 0: if
                    it is infinite there, 0 times infinity is NaN; eager mode has no such side
    ties            of two sums that are equal in eager mode, rounding may make one the larger
"""

from __future__ import annotations

import inspect
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
import numpy.typing as npt

from micrograd.compiler.guard import Guard
from micrograd.compiler.parameters import Row, one_at_a_time
from micrograd.compiler.program import Program, Shapes
from micrograd.compiler.record import ATTEMPTS, Shape
from micrograd.compiler.run_numba import why_not
from micrograd.compiler.schedule import Group
from micrograd.compiler.simplify import Instructions
from micrograd.engine import Value
from micrograd.pause import is_paused, open_blocks
from micrograd.trace import Traced

if TYPE_CHECKING:
    from micrograd.render import Digraph

EXECUTORS = ("numba", "numpy", "python")
KNOWN = 1000  # kinds of arrays that are remembered
OFTEN, SOON = 10, 60.0  # as many compilations within as many seconds are worth a warning

__all__ = ["Batch", "Compiled", "compile"]

Array = npt.NDArray[Any]


class Batch:
    """The results of a compiled function for some examples.

    Attributes:
        n: number of examples.
        data: the mean of the result over the examples; of a function that returns a list, a list
            of means.

    >>> w = Value(2.0)
    >>> both = compile(lambda x: [w * x, w + x])([1.0, 3.0])
    >>> both.data, both.lanes
    ([4.0, 4.0], array([[2., 3.],
           [6., 5.]]))
    >>> both[1].item()
    4.0
    >>> both[1].backward()
    >>> w.grad
    1.0
    """

    def __init__(
        self,
        n: int,
        data: Any,
        lanes: Array | Callable[[], Array],
        gradients: Callable[[], tuple[Row, Array]] | None = None,
        elements: Sequence[Batch] | None = None,
    ) -> None:
        self.n = n
        self.data = data
        self._lanes = lanes
        self._gradients = gradients
        self._elements = elements

    @property
    def lanes(self) -> Array:
        """The result of each example: (n,), or (n, k) of a function that returns a list of k."""
        if callable(self._lanes):
            self._lanes = self._lanes()
        return self._lanes

    @np.errstate(all="ignore")
    def backward(self, gradient: float = 1.0) -> None:
        """Adds the gradients of the mean to the `grad` of each parameter, as Value.backward() does.

        Raises:
            TypeError: the function returns a list: an element of the batch has a backward().
            RuntimeError: the function was called inside `no_grad()`.
        """
        if self._gradients is None:
            raise TypeError(
                f"this batch has {len(self)} results, and backward() starts from one: "
                "batch[0].backward()"
            )
        row, gradients = self._gradients()
        row.grad += gradients if gradient == 1 else gradient * gradients

    def item(self) -> float:
        """The mean, as a float."""
        return float(self.data)

    def __len__(self) -> int:
        if self._elements is None:
            raise TypeError("the function returns one Value: its results are batch.lanes")
        return len(self._elements)

    def __getitem__(self, i: int) -> Batch:
        if self._elements is None:
            raise TypeError("the function returns one Value: its results are batch.lanes")
        return self._elements[i]

    def __getstate__(self) -> dict[str, Any]:
        # The parameters stay here: a copy has the numbers alone.
        gradients = None if self._gradients is None else _gradients_of_a_copy
        return {**self.__dict__, "_lanes": self.lanes, "_gradients": gradients}

    def __bool__(self) -> bool:
        return bool(self.data)

    def __float__(self) -> float:
        return self.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.lanes, dtype=dtype)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def _refused(self, _: Any) -> NoReturn:
        raise TypeError(
            "a batch holds results and is no node of a graph: write what is added to the loss, or "
            "multiplied, inside the compiled function, or compute with batch.data"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = _refused
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refused

    def __repr__(self) -> str:
        return f"Batch(data={self.data}, n={self.n})"


def _gradients_of_a_copy() -> NoReturn:
    raise RuntimeError("a copy of a batch has no gradients: call backward() of the batch itself")


class Compiled:
    """A function of scalars that runs over a batch; made by `compile`.

    It is called with arrays whose first axis is that of the examples: (n,) gives the function a
    number, (n, d) a list of d numbers. An argument without axes is the same in every example.
    Called with Values it is the function itself.

    Attributes:
        function: what was compiled.
        programs: by the shapes of the arguments, for one example.

    >>> w = Value(2.0, label="w")
    >>> @compile
    ... def square(x):
    ...     return (w * x) ** 2
    >>> square([1.0, 3.0]).data
    20.0
    >>> (square.executor, bool(square.reason)) in [("numba", False), ("numpy", True)]
    True
    >>> print(square.source, end="")
    def program(parameters, rows):
        (w,) = parameters
    <BLANKLINE>
        # in every example
        square = w_grad = 0.0
        for (x,) in rows:
            v1 = w * x
            square += v1 * v1
            w_grad += x * (2.0 * v1)
    <BLANKLINE>
        # means over the examples
        n = len(rows)
        square /= n
        w_grad /= n
        return square, [w_grad]
    >>> [step.op for step in square.instructions if step.operands]  # the last '*': by x
    ['*', '*', '*', '*', '*', 'mean', 'mean']
    >>> square.groups
    [* of 1 in lanes, * of 1 in lanes, * of 1 in lanes, 2 means of 1 product]
    >>> square.picture().source.count("->")  # from w and x, and from group to group
    7
    >>> number = ()
    >>> square.program((number,)).parameters == [w]
    True
    >>> square.clear()
    >>> square.programs
    {}
    """

    def __init__(self, function: Callable[..., Any], executor: str = "") -> None:
        if not callable(function):
            raise TypeError(
                f"compile expects a function, got {type(function).__name__} {function!r:.40}"
            )
        if executor not in ("", *EXECUTORS):
            raise ValueError(f"executor {executor!r} is not one of {', '.join(EXECUTORS)}")
        self.function = function
        self._asked_for = executor
        self._made = _Made()
        self._methods: dict[int, tuple[Any, Any, Any]] = {}  # by the address of their object
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        update_wrapper(self, function, updated=())

    @property
    def programs(self) -> dict[Shapes, Program]:
        """What has been compiled, by the shapes of the arguments for one example."""
        return self._made.programs

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """A Batch.

        Raises:
            TypeError: an argument is no array of numbers, or an index no whole number.
            ValueError: arrays are of unequal length, or empty.
            IndexError: an index lies outside of its table.
        """
        made = self._made
        if made.guard is not None and not made.guard.holds():
            made.clear()
            self._warn_if_often()
        kinds = tuple([(a.shape, a.dtype) if type(a) is np.ndarray else None for a in arguments])
        known = made.known.get(kinds) if not named else None
        if known is not None:  # arrays as in an earlier call: nothing is left to check
            arrays: Sequence[Array] = arguments
            n, program = known
        else:
            if named:
                return self._called_by_name(arguments, named)
            try:
                arrays = list(map(np.asarray, arguments))
            except ValueError:  # lists of different lengths
                arrays = []
            are_numbers = arrays and not any(a.dtype == object for a in arrays)
            if not are_numbers and any(map(_has_values, arguments)):
                return self.function(*arguments)
            arrays = [_as_array(i, a) for i, a in enumerate(arguments)]
            n = _number_of_examples(arrays)
            program = self.program(tuple(a.shape[1:] for a in arrays))
            if None not in kinds:
                if len(made.known) == KNOWN:
                    made.known.clear()
                made.known[kinds] = n, program
        if self.executor != "numba":
            _check_indices(program, arrays)
        try:
            return self._computed(program, arrays, n)
        except IndexError:  # the kernel looks at each index itself, but does not say which it was
            _check_indices(program, arrays)
            raise

    def _warn_if_often(self) -> None:
        # This fast only a loop changes things, and then it waits for the compiler in each step.
        times = self._made.times
        times.append(time.monotonic())
        if len(times) == OFTEN and times[-1] - times[0] < SOON:
            warnings.warn(
                f"{self.__name__} has been compiled {OFTEN} times within a minute, because "
                "something that it reads keeps changing: pass it as an argument, or make it the "
                "data of a Value",
                RuntimeWarning,
                stacklevel=3,
            )
            times.clear()

    def _computed(self, program: Program, arrays: Sequence[Array], n: int) -> Batch:
        if program.is_list or not program.has_gradients or (open_blocks and is_paused()):
            return self._without_gradients(program, arrays, n)
        parameters = program.row.data
        mean, gradients, lanes = program.with_gradients(parameters, arrays, n)
        found: Any = lanes
        if lanes is None:  # computed apart, should anybody ask
            given = parameters.copy(), [a.copy() for a in arrays], n
            found = lambda: program.results(*given)[0]  # noqa: E731
        return Batch(n, mean, found, lambda: (program.row, gradients))

    def _called_by_name(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        bound = inspect.signature(self.function).bind(*arguments, **named)
        if not bound.kwargs:
            return self(*bound.args)
        n, names = len(bound.args), tuple(bound.kwargs)  # keyword-only, or behind one left out
        given = [*inspect.signature(self.function).parameters][:n]

        def positional(*values: Any) -> Any:
            return self.function(*values[:n], **dict(zip(names, values[n:], strict=True)))

        positional.__name__ = self.__name__
        positional.__wrapped__ = self.function  # type: ignore[attr-defined]  # its guard looks there
        kind = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(name, kind) for name in (*given, *names)]
        positional.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        compiled = Compiled(positional, self._asked_for)
        compiled._made = self._made.by_name.setdefault((n, names), compiled._made)
        return compiled(*bound.args, *bound.kwargs.values())

    def _without_gradients(self, program: Program, arrays: Sequence[Array], n: int) -> Batch:
        parameters = program.row.data.copy()
        lanes = program.results(parameters, arrays, n)
        with np.errstate(all="ignore"):
            means = [float(row.mean()) for row in lanes]
        kept = None if is_paused() else [a.copy() for a in arrays]  # backward() may come later

        def gradients_of(output: int) -> tuple[Row, Array]:
            if kept is None or not program.have_graphs[output]:
                raise RuntimeError("this batch was computed inside no_grad(): no gradients")
            backward = self._gradient_program(program, output)
            _, gradients, _ = backward.with_gradients(parameters, kept, n)
            return backward.row, gradients

        elements = [
            Batch(n, mean, row, partial(gradients_of, i))
            for i, (mean, row) in enumerate(zip(means, lanes, strict=True))
        ]
        if not program.is_list:
            return elements[0]
        return Batch(n, means, lanes.T, elements=elements)

    def program(self, shapes: Shapes) -> Program:
        """The program for examples of these shapes; made when it is first asked for."""
        programs = self._made.programs
        if shapes not in programs:
            with one_at_a_time:
                if shapes not in programs:
                    known = self._latest.parameters if programs else ()
                    programs[shapes] = self._recorded(shapes, 0, known)
        return programs[shapes]

    def _gradient_program(self, forward: Program, output: int) -> Program:
        # Of another result than the first: made when its gradients are first asked for.
        shapes, made = forward.shapes, self._made
        with one_at_a_time:
            if made.programs.get(shapes) is not forward or not (made.guard and made.guard.holds()):
                raise RuntimeError(
                    "what the function reads has changed since this batch was computed: call the "
                    "function again"
                )
            if not output:
                return forward
            if (shapes, output) not in made.others:
                found = self._recorded(shapes, output, forward.parameters)
                made.others[shapes, output] = found
            return made.others[shapes, output]

    def _recorded(self, shapes: Shapes, output: int, known: Sequence[Value]) -> Program:
        numbers = Guard(self.function).numbers
        try:
            for _ in range(ATTEMPTS):
                program = Program(self.function, shapes, self.executor, output, known)
                self._made.guard = Guard(self.function)
                if self._made.guard.numbers == numbers:
                    return program
                numbers = self._made.guard.numbers
            raise ValueError(
                "the function changes a number that it reads, on every call: change it outside, "
                "and pass it as an argument"
            )
        except Exception as error:
            given = ", ".join(map(_described, shapes))
            error.add_note(
                f"(while compiling {self.__name__} for examples of {given}; the first axis of "
                "an argument is that of the examples: [[1.0, 2.0]] is one, of two numbers)"
            )
            raise

    def _chosen(self) -> tuple[str, str]:
        # Asked when it is needed, since it may load numba.
        if self._made.chosen is None:
            reason = why_not(kept=not self._asked_for) if self._asked_for in ("", "numba") else ""
            if reason and self._asked_for:
                raise ValueError(reason)
            self._made.chosen = self._asked_for or ("numpy" if reason else "numba"), reason
        return self._made.chosen

    @property
    def executor(self) -> str:
        """What runs the programs: 'numba', 'numpy' or 'python'."""
        return self._chosen()[0]

    @property
    def reason(self) -> str:
        """Why numba was not chosen."""
        return self._chosen()[1]

    def clear(self) -> None:
        """Forgets all programs: the function is recorded again when it is next called."""
        self._made.clear()

    @property
    def _latest(self) -> Program:
        if not self.programs:
            raise RuntimeError(
                f"{self.__name__} is compiled when it is first called, since a program depends on "
                "the shapes of its arguments: call it once, then look"
            )
        return next(reversed(self.programs.values()))

    @property
    def instructions(self) -> Instructions:
        """The instructions of the program that was compiled last."""
        return self._latest.instructions

    @property
    def source(self) -> str:
        """The program that was compiled last, as Python text."""
        return self._latest.source(self.__name__, with_gradients=not self._latest.is_list)

    @property
    def groups(self) -> list[Group]:
        """The groups of the program that was compiled last."""
        return self._latest.schedule.groups

    def picture(self, format: str = "svg", rankdir: str = "LR") -> Digraph:
        """The groups of the program that was compiled last; what `draw_dot` draws of a function."""
        from micrograd.compiler.picture import picture  # loads Graphviz, which few need here

        return picture(self._latest.schedule, self._latest.widths, format, rankdir)

    def __get__(self, owner: Any, kind: Any = None) -> Compiled:
        if owner is None:
            return self
        # A method is compiled for each object. What was made is kept as long as the object is; the
        # method itself, which keeps the object alive, only as long as it is used.
        address = id(owner)
        known, made, method = self._methods.get(address, (None, None, None))
        if isinstance(known, weakref.ref):
            known, method = known(), method()
        if known is not owner:
            made, method = _Made(), None
        if method is None:
            method = Compiled(self.function.__get__(owner, kind), self._asked_for)
            method._made = made
            try:
                forget = partial(_forget, weakref.ref(self), address)
                self._methods[address] = weakref.ref(owner, forget), made, weakref.ref(method)
            except TypeError:  # an object with slots may have no place for weak references
                self._methods[address] = owner, made, method
        found: Compiled = method
        return found

    def __reduce__(self) -> Any:
        return Compiled, (self.function, self._asked_for)  # a copy has its own parameters

    def __repr__(self) -> str:
        return f"Compiled({self.__name__})"


class _Made:
    """What was made of a function, for a call to use again.

    Attributes:
        guard: tells whether it is still true.
        programs: by the shapes of the arguments.
        others: for further results of a list, by shapes and number of the result.
        known: number of examples and program, by the kinds of arrays that a call was given.
        by_name: for calls with keywords, by the number of other arguments and the names.
        chosen: what runs the programs, and why it is not numba.
        times: when it was compiled again, in seconds.
    """

    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=OFTEN)
        self.chosen: tuple[str, str] | None = None
        self.clear()

    def clear(self) -> None:
        self.guard: Guard | None = None
        self.programs: dict[Shapes, Program] = {}
        self.others: dict[tuple[Shapes, int], Program] = {}
        self.known: dict[Any, tuple[int, Program]] = {}
        self.by_name: dict[tuple[int, tuple[str, ...]], _Made] = {}


def _forget(compiled: weakref.ref[Compiled], address: int, _: Any) -> None:
    if (found := compiled()) is not None:
        found._methods.pop(address, None)


@overload
def compile(function: Callable[..., Any], /, *, executor: str = "") -> Compiled: ...
@overload
def compile(*, executor: str = "") -> Callable[[Callable[..., Any]], Compiled]: ...
def compile(*function: Any, executor: str = "") -> Any:
    """Compiles a function of scalars, as a decorator or by itself.

    Called with arrays whose first axis is that of the examples, (n,) for a number, (n, d) for a
    list of d numbers, it returns a `Batch`: `data` is the mean, `lanes` the result of each example,
    `backward()` adds the gradients of the mean to those of the parameters. `source`, `groups`,
    `instructions` and `draw_dot(f)` show what it has become. Each call copies its arrays in.

    The numbers are those of today: parameters are read in each call, and what else the function
    reads is compared with what it was, in each call again. These are watched: globals, closures
    and defaults of the function and of all functions of yours that it can reach; attributes, class
    attributes, and items of lists, dicts, sets and arrays reached through them. After a change the
    next call compiles anew. These are not watched, and stay as they were when the function was
    recorded: random numbers, files, the time, what C code reads (context variables, tensors of
    other libraries), generators, what `eval` or `globals()` looks up, text that objects make of
    themselves, globals of installed packages, entries that are written into `vars(module)`
    directly, labels and gradients of Values (a gradient reads as 0), and attributes that a Value is
    given only later. What == calls equal counts as the same: 0.0 and -0.0, 1 and 1.0 and True.
    `clear()` starts anew. Pass large arrays as arguments: reading them as globals means comparing
    them in each call.

    Args:
        function: takes numbers, or lists of numbers, and returns a Value or a list of Values. It
            may use Values of its surroundings: leaves among them are its parameters.
        executor: 'numba' (the extra `fast`, whose kernel is compiled once for each installation, in
            some seconds), 'numpy', or 'python', which runs the text of `source`; by default numba
            where it can be had, else NumPy.

    Raises:
        TypeError: it is no function.
        ValueError: there is no such executor, or it cannot be had here.

    >>> model = Value(3.0)
    >>> compile(lambda x: model * x)([1.0, 2.0]).lanes
    array([3., 6.])
    """
    if not function:  # as in @compile(executor="python")
        return partial(Compiled, executor=executor)
    return Compiled(function[0], executor)


def _has_values(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype == object and _has_values(x.tolist())
    if isinstance(x, (list, tuple)):
        return any(map(_has_values, x))
    return isinstance(x, (Value, Traced))


def _as_array(i: int, x: Any) -> Array:
    if np.ma.is_masked(x):
        raise TypeError(f"argument {i} has masked numbers: leave their examples out")
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(
            f"argument {i} has examples of different lengths: all have the same structure in a "
            "batch; call the function once for each length"
        ) from None
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"argument {i}: expected an array of real numbers, got {array.dtype} {x!r:.40}"
        )
    return array


def _number_of_examples(arrays: Sequence[Array]) -> int:
    lengths = [len(a) for a in arrays if a.ndim]
    if len(set(lengths)) > 1:
        raise ValueError(
            "expected arrays with a row for each example, got "
            f"{' and '.join(map(str, lengths))} rows"
        )
    if lengths and not lengths[0]:
        raise ValueError("expected at least one example, got none")
    return lengths[0] if lengths else 1


def _check_indices(program: Program, arrays: Sequence[Array]) -> None:
    for argument, columns, length in program.indices:
        a = arrays[argument]
        index = a.reshape(len(a) if a.ndim else 1, -1)[:, columns]
        if index.dtype == np.int64 and index.view(np.uint64).max() < length:
            continue  # by far the most frequent case, in one look: what is negative would be huge
        if index.dtype.kind == "f" and (index != np.floor(index)).any():
            wrong = index[index != np.floor(index)][0]
            raise TypeError(f"expected whole numbers as indices, got {wrong}")
        if index.min() < 0 or index.max() >= length:
            wrong = index.min() if index.min() < 0 else index.max()
            raise IndexError(f"take expects 0 <= index < {length}, got {wrong:g}")


def _described(shape: Shape) -> str:
    return " x ".join(map(str, shape)) + " numbers" if shape else "one number"
