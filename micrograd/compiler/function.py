"""`micrograd.compile`: runs a function of scalars over a whole batch.

The first call with examples of a new shape records the function and runs each pass of the compiler
once. The resulting program, kept in `programs`, handles any number of examples.

Results and gradients are the same as in eager mode, except for:

    last bits       terms are added in a different order; x ** 0.5 is computed as a square root (NaN
                    at -infinity) and x ** -1 as 1 / x; the executor 'llvm' has its own exp, log and
                    tanh; a zero from a sum or a relu may have the opposite sign; JAX rewrites some
                    quotients, and counts numbers nearer to 0 than 2.2e-308 as 0
    errors          where eager mode raises an error, such as for the logarithm of -1, the result
                    of that example follows IEEE arithmetic: NaN or infinity
                    training steps also refuse gradients whose squares overflow
    where, take     alternatives that are not chosen receive the gradient 0, which turns into NaN if
                    their derivative is infinite; eager mode does not differentiate them. So do the
                    results of a list or a dict on which backward() is not called
    ties            rounding may break a tie between two sums that are equal in eager mode
"""

from __future__ import annotations

import inspect
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from importlib.util import find_spec
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from micrograd.compiler.arguments import Shared, Static, as_array, shape_of
from micrograd.compiler.batch import Batch
from micrograd.compiler.guard import Guard, objects_of
from micrograd.compiler.parameters import is_recording, one_at_a_time
from micrograd.compiler.program import DTYPES, Program, Shapes
from micrograd.compiler.run_llvm import why_not
from micrograd.compiler.schedule import Array, Group
from micrograd.compiler.simplify import Instructions
from micrograd.compiler.training import Single, check_optimizer
from micrograd.compiler.update import training_of
from micrograd.core.pause import is_paused, open_blocks, watchers
from micrograd.core.shapes import Numbers, Table
from micrograd.core.tracing import Traced
from micrograd.engine import Value
from micrograd.optim import Optimizer
from micrograd.program.foreign import check_engine

if TYPE_CHECKING:
    from micrograd.draw.render import Digraph

KIND = attrgetter("__class__", "shape", "dtype")  # of an argument
EXECUTORS = ("llvm", "numpy", *DTYPES)
NOTHING = Guard(len)  # of a function that reads nothing, before something is compiled
OFTEN, SOON = 20, 60.0  # warn after OFTEN compilations in less than SOON seconds

__all__ = ["Batch", "Compiled", "compile"]

Given = float | Sequence[float | Sequence[float]] | Table  # data, for a Batch


class Compiled:
    """A function of scalars that runs over a batch; made by `compile`, which describes its calls.

    Attributes:
        function: the original function.

    >>> w = Value(2.0, label="w")
    >>> @compile
    ... def square(x):
    ...     return (w * x) ** 2
    >>> square([1.0, 3.0]).data
    20.0
    >>> "v1 = w * x" in square.scalar_source
    True
    >>> [step.op for step in square.instructions if step.operands]  # the last * is d/dx
    ['*', '*', '*', '*', '*', 'mean', 'mean']
    >>> square.groups
    [* of 1 in lanes, * of 1 in lanes, * of 1 in lanes, 2 means of 1 product]
    """

    def __init__(self, function: Callable[..., Any], executor: str = "") -> None:
        if not callable(function):
            got = f"{type(function).__name__} {function!r:.40}"
            fix = "pass the function itself, not its result"
            raise TypeError(f"compile expects a function, got {got}: {fix}")
        if executor not in ("", *EXECUTORS):
            raise ValueError(f"executor {executor!r} is not one of {', '.join(EXECUTORS)}")
        self.function = function
        self._asked_for = executor
        self._cache = _Cache()
        self._caches: dict[int, _Cache] = {}  # of methods, by the id of their object
        self._kept: list[object] = []  # those of these objects that are kept alive
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        update_wrapper(self, function, updated=())

    @property
    def programs(self) -> dict[Shapes, Program]:
        """A dict from the shapes of one example's arguments to the compiled program."""
        return self._cache.programs

    @overload
    def __call__(self, *arguments: Given, **named: Given) -> Batch: ...
    @overload
    def __call__(self, *arguments: Any, **named: Any) -> Any: ...
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The results for a batch of examples, as a Batch.

        Raises:
            TypeError: an argument is not an array of numbers.
            ValueError: the arrays have different lengths, or are empty.
            IndexError: an index is outside its table, or not a whole number.
        """
        if named:
            bound = inspect.signature(self.function).bind(*arguments, **named)
            bound.apply_defaults()  # of those before the last one given
            if bound.kwargs:
                alone = f"{self.__name__} takes {', '.join(bound.kwargs)} by keyword alone"
                raise TypeError(f"{alone}, but arrays go by position: remove the `*` before it")
            arguments = bound.args
        prepared = self._prepared(arguments)
        if prepared is None:
            return self.function(*arguments)
        program, arrays, n = prepared
        try:
            return program.batch(arrays, n, self._weighted_program)
        except IndexError:
            program.say_which_index(arrays, n)
            raise

    def value_and_grad(
        self, numbers: Any, *arguments: Numbers, parameters: Any = None
    ) -> tuple[float, Array]:
        """The mean, and its gradients, where the parameters have these numbers; no Value changes.

        For minimizers and samplers of other libraries, which keep all parameters in one array:

            A = values(np.zeros(3))
            loss = compile(lambda x, y: (x @ A - y) ** 2)
            f = functools.partial(loss.value_and_grad, parameters=A)
            found = scipy.optimize.minimize(f, A.data, (X, y), jac=True)
            A.data = found.x

        Args:
            numbers: a number for each parameter, shape (n,).
            arguments: those of a call.
            parameters: a model, or Values in a list or an array, row by row; in the order of
                `numbers`. By default, those of the function in the order of its `parameters`. Other
                parameters that the function uses have the numbers of today.

        >>> w, b = Value(0.0), Value(5.0)
        >>> compile(lambda x: (w * x) ** 2 + b).value_and_grad([3.0], [1.0, 2.0], parameters=[w])
        (27.5, array([15.]))
        """
        prepared = self._prepared(arguments)
        if prepared is None:
            raise TypeError("value_and_grad expects numbers, got Values: pass their data")
        program, arrays, n = prepared
        if not (program.is_single and program.have_graphs[0]):
            expected = "a single Value, computed outside no_grad()"
            raise TypeError(f"{self.__name__} must return {expected}: return the loss, for example")
        size, here, there = program.places_of(parameters)
        theta = np.asarray(numbers, float)
        if theta.shape != (size,):
            raise ValueError(f"expected {size} numbers, one for each parameter, got {theta.shape}")
        with one_at_a_time:
            data = program.row.data.copy()
        data[here] = theta[there]
        mean, found, _ = program.with_gradients(data, arrays, n)
        gradients = np.zeros(size)
        gradients[there] = found[here]
        return mean, gradients

    def step(self, optimizer: Optimizer | Any, *arguments: Numbers) -> float:
        """One training step: updates the parameters, and returns the mean before the update.

        It does the same as `optimizer.zero_grad()`, a call, `backward()` and `optimizer.step()`, in
        one call of the executor if the optimizer is one of this package's. Gradients are those of
        this step.

        >>> from micrograd.optim import SGD
        >>> w = Value(3.0)
        >>> square = compile(lambda x: (w * x) ** 2)
        >>> square.step(SGD([w], lr=0.25), [1.0])
        9.0
        >>> w
        Value(data=1.5, grad=6.0)
        """
        check_optimizer("step", optimizer)
        means: list[float] = []
        if not self.in_one_call(optimizer, arguments, 1, None, (), means):
            means.append(Single(self, arguments, optimizer)(None))
        return means[0]

    def in_one_call(self, optimizer: Any, arguments: Sequence[Any], *steps: Any) -> bool:
        """Does training steps in one call of the executor; False if it cannot.

        `steps` are the last arguments of a call of `Training`, from `count` on.
        """
        prepared = self._prepared(arguments)
        if prepared is None or (open_blocks and is_paused()):
            return False
        if steps[0] > 1 and self._cache.guard.reads_optimizer:
            return False  # each step changes what the next one reads
        program, arrays, n = prepared
        with one_at_a_time:  # no parameter moves to another storage meanwhile
            training = program.training
            if not (training and training.is_for(optimizer)):
                training = program.training = training_of(program, optimizer)
            order = steps[1]
            size = n if order is None else order.shape[1]
            if training is None or size > training.largest:
                return False
            try:
                training(arrays, size, *steps)
            except IndexError:
                program.say_which_index(arrays, n)
                raise
        for watcher in watchers:
            watcher.stepped(steps[-1][-1], self.function, arrays)
        return True

    def _prepared(self, arguments: Sequence[Any]) -> tuple[Program, Sequence[Array], int] | None:
        # The program, the arguments as arrays, and the number of examples; None if some are Values.
        if is_recording() and not any(map(_has_values, arguments)):
            where = "with plain numbers inside of a function that is being compiled"
            fix = "pass Values or arguments of that function, or it would never be updated"
            raise ValueError(f"{self.__name__} was called {where}: {fix}")
        cache = self._cache
        if not cache.guard.holds():
            cache.clear()
        try:
            kinds: Any = tuple(map(KIND, arguments))
        except AttributeError:  # a list, for example
            kinds = None
        known = cache.calls.get(kinds)
        if known is not None:  # arrays like those of an earlier call need no checks
            return known[0], arguments, known[1]
        try:
            given = [as_array(i, a) for i, a in enumerate(arguments)]
        except (TypeError, ValueError):
            if any(map(_has_values, arguments)):
                return None
            raise
        shapes = tuple(map(shape_of, given))
        arrays = [a for a in given if not isinstance(a, Static)]
        counts = [len(a) for a in arrays if a.ndim and not isinstance(a, Shared)]
        lengths = {*counts} or {1}
        if len(lengths) > 1 or lengths == {0}:
            found = " and ".join(map(str, counts))
            raise ValueError(f"expected arrays with a row for each example, got {found} rows")
        [n] = lengths
        program = self.program(shapes)
        if len(arrays) == len(arguments) and all(map(is_, arrays, arguments)):
            cache.calls[kinds] = program, n
        return program, arrays, n

    def program(self, shapes: Shapes) -> Program:
        """The program for examples of these shapes, compiled on first use."""
        with one_at_a_time:
            programs = self._cache.programs
            if shapes not in programs:
                known = self._latest.parameters if programs else ()
                programs[shapes] = self._recorded(shapes, 0, known)
                times = self._cache.times
                times.append(time.monotonic())
                if len(times) == OFTEN and times[-1] - times[0] < SOON:
                    times.clear()
                    warnings.warn(
                        f"{self.__name__} has been compiled {OFTEN} times within a minute: pass "
                        "what keeps changing as an argument, or make it the data of a Value; pad "
                        "examples to a few lengths, and pass the real length as an argument",
                        RuntimeWarning,
                        stacklevel=4,  # in the line that calls the function
                    )
            return programs[shapes]

    def _weighted_program(self, forward: Program) -> Program:
        # The program for upstream gradients, compiled when backward() needs it.
        cache = self._cache
        with one_at_a_time:
            if cache.programs.get(forward.shapes) is not forward or not cache.guard.holds():
                what = "something that the function reads has changed since this batch was computed"
                raise RuntimeError(f"{what}: call the function again")
            if forward.weighted is None:
                n, known = forward.n_results, forward.parameters
                forward.weighted = self._recorded(forward.shapes, n, known)
            return forward.weighted

    def _recorded(self, shapes: Shapes, n_upstream: int, known: Sequence[Value]) -> Program:
        try:
            program = Program(self.function, shapes, self.executor, n_upstream, known)
            keys = [shapes, *self._cache.programs]
            fixed = [x.value for key in keys for x in key if isinstance(x, Static)]
            self._cache.guard = Guard(self.function, program.parameters, fixed)
            return program
        except Exception as error:
            check_engine("compile", objects_of(self.function))
            given = ", ".join(
                " x ".join(map(str, s)) + " numbers" if s else "one number"
                for s in shapes
                if not isinstance(s, Static)
            )
            if isinstance(error, IndexError):
                error.add_note("(an entry is chosen by an argument with take(table, index))")
            error.add_note(
                f"(while compiling {self.__name__} for examples of {given}; the first axis of "
                "an argument runs over the examples: [[1.0, 2.0]] is one example of two numbers)"
            )
            raise

    @property
    def executor(self) -> str:
        """The executor of the programs: 'llvm', 'numpy', 'jax' or 'jax-float32'."""
        asked = self._asked_for
        if not self._cache.executor:  # not chosen earlier, because this may import llvmlite
            reason = why_not() if asked in ("", "llvm") else ""
            if asked in DTYPES and find_spec("jax") is None:
                reason = "JAX is not installed: pip install jax"
            if reason and asked:
                raise ValueError(reason)
            self._cache.executor = asked or ("numpy" if reason else "llvm")
        return self._cache.executor

    def clear(self) -> None:
        """Discards all programs: the next call chooses the executor and records the function."""
        self._cache.clear()

    @property
    def _latest(self) -> Program:
        if not self.programs:
            why = "a program depends on the shapes of its arguments"
            raise RuntimeError(f"{self.__name__} is not compiled yet, as {why}: call it once")
        return next(reversed(self.programs.values()))

    @property
    def instructions(self) -> Instructions:
        """The instructions of the latest program."""
        return self._latest.instructions

    @property
    def parameters(self) -> list[Value]:
        """The parameters of the latest program, in the order in which `source` takes them."""
        return self._latest.parameters

    @property
    def source(self) -> str:
        """The latest program as NumPy text at the level of matrices, with a line for each group."""
        return self._latest.source(self.__name__)

    @property
    def scalar_source(self) -> str:
        """The latest program as Python text, number by number; a ValueError if it has a loop."""
        return self._latest.scalar_source()

    @property
    def groups(self) -> list[Group]:
        """The groups of the latest program."""
        return self._latest.schedule.groups

    def picture(self, format: str = "svg", rankdir: str = "LR") -> Digraph:
        """A drawing of the groups of the latest program, of the type that `draw_dot` returns."""
        from micrograd.compiler.picture import picture  # loads Graphviz, which is rarely needed

        return picture(self._latest.schedule, [*self._latest.names], format, rankdir)

    def __get__(self, owner: object, kind: type | None = None) -> Compiled:
        if owner is None:
            return self
        method = Compiled(self.function.__get__(owner, kind), self._asked_for)
        # Its cache lives as long as the object. In a WeakKeyDictionary, equal objects share one.
        if id(owner) not in self._caches:
            try:
                weakref.finalize(owner, self._caches.pop, id(owner), None)
            except TypeError:  # it has slots and no weak references: keep it alive
                self._kept.append(owner)
        method._cache = self._caches.setdefault(id(owner), method._cache)
        return method

    def __reduce__(self) -> tuple[object, ...]:
        return Compiled, (self.function, self._asked_for)  # no cache: a copy has its own parameters

    def __repr__(self) -> str:
        return f"Compiled({self.__name__})"


class _Cache:
    """The compiled programs of a function, kept for later calls.

    Attributes:
        guard: notices when the programs are out of date.
        programs: maps the shapes of the arguments to a program.
        calls: maps the shapes and types of a call's arrays to (program, number of examples).
        times: the times of the latest compilations, in seconds.
    """

    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=OFTEN)
        self.clear()

    def clear(self) -> None:
        self.executor = ""
        self.guard = NOTHING
        self.programs: dict[Shapes, Program] = {}
        self.calls: dict[Any, tuple[Program, int]] = {}


@overload
def compile(function: Callable[..., Any], /, *, executor: str = "") -> Compiled: ...
@overload
def compile(*, executor: str = "") -> Callable[[Callable[..., Any]], Compiled]: ...
def compile(*function: Any, executor: str = "") -> Any:
    """Compiles a function of scalars; can also be used as a decorator.

    The compiled function takes arrays whose first axis runs over the examples: (n,) for a number,
    (n, d) for a row of d numbers, which the function gets as an array if an array is given, and as
    a list if lists are. A single number is used for every example, as is the array in `shared(A)`;
    text, True, False, None and functions are passed on, and each of them has a program of its own.
    It returns a `Batch`: `data` is the mean, `lanes` the result for each example, and `backward()`
    adds the gradients of the mean to the `grad` of each parameter. (A call computes them, too;
    inside `no_grad()`, it computes the results alone.) `compile(model)(X).lanes` are a model's
    outputs for a batch. `source`, `groups`, `instructions` and `draw_dot(f)` show the compiled
    program. Each call copies its arrays. A call with Values just calls the original function.

    Derivatives can be taken inside: of each example with respect to its own numbers, with
    `derivative`, `gradient`, `jacobian`, `hessian` or `jvp`. `value_and_grad` is for minimizers and
    samplers of other libraries. Recording takes a time for each operation: a long loop whose steps
    are alike is recorded once if it is written with `scan`.

    Results are always up to date: each call reads the current data of the parameters, and checks
    whether anything else that the function reads has changed since it was recorded. If so, the call
    compiles it again.

    Watched are the names that your functions read (globals, closures, defaults), and what is
    reached through them: attributes and methods of objects, of their classes and of your modules;
    lists, dicts, sets and tuples; arrays, by content. Drawing from a generator of random numbers
    that was there before is an error: pass random numbers as an argument. Not watched, and fixed
    when the function is recorded, are:

        files, the time, random numbers of the operating system
        numbers read by C code: context variables, tensors of other libraries, tables of pandas
        UserDict, array.array and other objects of the standard library, generators, weak references
        modules without a file, functions and classes of installed packages
        labels and gradients of Values (a gradient reads as 0), attributes added to a Value later
        code that computes names: `eval`, `globals()`, `vars`, `attrgetter`, or `getattr` with a
            name that is put together; entries written into `vars(module)` directly; class patterns
            of `match`
        metaclasses, a replaced `__class__` or `__dict__`, views of dicts and their order, slots
            filled later

    The function runs only while it is recorded: what it changes outside, such as a counter of its
    calls, it changes only then. `clear()` forces a new recording. It is also needed if a number is
    replaced by an equal one (0.0 by -0.0, or 1 by 1.0 or True). Pass large arrays as arguments: a
    global array is compared in each call.

    Args:
        function: takes numbers, or rows of numbers, and returns a Value, or several in lists,
            arrays, dicts and named tuples. It may also use Values from outside; the leaves among
            them are its parameters.
        executor: 'llvm' (needs the extra `fast`) makes machine code of the program, once for any
            number of examples, and once for a single one. 'numpy' needs nothing else. The default
            is 'llvm' if llvmlite is installed, else 'numpy'; it is chosen at the first call and
            kept until `clear()`. 'jax' (needs the extra `jax`) shares the examples among all
            devices that JAX finds and computes in float64, whatever JAX is set to; 'jax-float32'
            computes in float32. JAX compiles the program once for each number of examples.

    Raises:
        TypeError: `function` is not callable. The first call raises one if a parameter is of a
            subclass of Value that defines `data` or `grad` itself.
        ValueError: the executor does not exist, or is not available here.

    >>> from micrograd import derivative
    >>> compile(lambda x: {"y": x.sin(), "slope": derivative(Value.sin, x)})([0.0]).data
    {'y': 0.0, 'slope': 1.0}
    """
    if not function:  # as in @compile(executor="numpy")
        return partial(Compiled, executor=executor)
    return Compiled(function[0], executor)


def _has_values(x: object) -> bool:
    # Whether an argument contains Values or traced numbers and so is not a batch.
    if isinstance(x, np.ndarray):
        return x.dtype == object and _has_values(x.tolist())
    if isinstance(x, (list, tuple)):
        return any(map(_has_values, x))
    return isinstance(x, (Value, Traced))
