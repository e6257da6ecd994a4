"""Arithmetic that writes LLVM's language instead of computing.

A `Num` stands for a number, or for a vector of numbers, that exists only when the text runs. An
operation on it adds a line to its `Text` and returns another Num, so that a formula of Python, such
as `exp` below, becomes machine code. Integers of Python are constants: a formula of both folds them
while it is written.

    >>> text = Text()
    >>> [memory] = text.function("run", memory="double")
    >>> x = memory.read(0, width=4)
    >>> memory.write(4, x * x + 1.0)
    >>> print(text.finished())
    define void @run(ptr noalias %memory) {
    start:
     %v1 = getelementptr double, ptr %memory, i64 0
     %v2 = load <4 x double>, ptr %v1, align 8
     %v3 = fmul contract <4 x double> %v2, %v2
     %v4 = fadd contract <4 x double> %v3, splat (double 0x3FF0000000000000)
     %v5 = getelementptr double, ptr %memory, i64 4
     store <4 x double> %v4, ptr %v5, align 8
     ret void
    }

A product and a sum may be rounded once (`contract`); all else follows the IEEE standard.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partialmethod, reduce
from typing import Any, NamedTuple

from micrograd.compiler.parameters import one_at_a_time

LOG2, LOG2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 1.5 * 2.0**52  # adding it puts the nearest whole number into the last bits
ROOT_HALF = struct.unpack("q", struct.pack("d", 0.5**0.5))[0]
BYTES = {"double": 8, "i64": 8, "i32": 4}
FLOATS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
WHOLES = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "<<": "shl", ">>": "ashr"}
COMPARED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}


def _operator(sign: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def of(x: Num, y: Any) -> Any:
        is_float = x.kind == "double"
        if not (is_float or isinstance(y, Num)):  # a place plus 0, or times 1, is the place
            if (sign, y) in (("+", 0), ("*", 1)):
                return x
            if (sign, y) in (("*", 0), ("&", 0)):
                return 0
        a, b = x.text.alike(x, y)
        a, b = (b, a) if swapped else (a, b)
        op = f"{FLOATS[sign]} contract" if is_float else WHOLES[sign]
        return x.text.new(a.kind, a.width, f"{op} {a.type} {a.name}, {b.name}")

    return of


class Num:
    """A number of the text, of kind 'double', 'i64' or 'i1' (a condition), or a vector of them."""

    __slots__ = ("kind", "name", "text", "width")

    def __init__(self, text: Text, name: str, kind: str, width: int = 1) -> None:
        self.text, self.name, self.kind, self.width = text, name, kind, width

    @property
    def type(self) -> str:
        """Its type in LLVM's language."""
        return _type(self.kind, self.width)

    __add__, __radd__ = _operator("+"), _operator("+")
    __sub__, __rsub__ = _operator("-"), _operator("-", swapped=True)
    __mul__, __rmul__ = _operator("*"), _operator("*")
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", swapped=True)
    __and__, __or__ = _operator("&"), _operator("|")
    __lshift__, __rshift__ = _operator("<<"), _operator(">>")

    def __neg__(self) -> Num:
        return self.text.new(self.kind, self.width, f"fneg {self.type} {self.name}")

    def __abs__(self) -> Num:
        return self.call("fabs")

    def compared(self, sign: str, other: Any) -> Num:
        """Whether it is <, <=, >, >= or == the other number; false if one of them is NaN."""
        a, b = self.text.alike(self, other)
        order = COMPARED[sign]
        kind = "fcmp o" if a.kind == "double" else "icmp s" if order != "eq" else "icmp "
        return self.text.new("i1", a.width, f"{kind}{order} {a.type} {a.name}, {b.name}")

    __lt__, __gt__ = partialmethod(compared, "<"), partialmethod(compared, ">")

    def is_nan(self) -> Num:
        """Whether it is not a number."""
        return self.text.new("i1", self.width, f"fcmp uno {self.type} {self.name}, {self.name}")

    def where(self, a: Any, b: Any) -> Num:
        """The number a where this condition is true, else b."""
        if not (isinstance(a, Num) or isinstance(b, Num)):
            a = self.text.number(a, "double" if isinstance(a, float) else "i64", self.width)
        a, b = self.text.alike(a, b)
        width = max(self.width, a.width)
        choice, a, b = (x.splat(width) for x in (self, a, b))
        line = f"select {choice.type} {choice.name}, {a.type} {a.name}, {b.type} {b.name}"
        return self.text.new(a.kind, width, line)

    def call(self, function: str, *others: Any) -> Num:
        """The result of one of LLVM's own functions."""
        suffix = f"v{self.width}f64" if self.width > 1 else "f64"
        given = [self, *(self.text.alike(self, x)[1] for x in others)]
        return self.text.called(f"@llvm.{function}.{suffix}", given)

    def cast(self, op: str, kind: str) -> Num:
        """The same in another kind, by 'bitcast', 'sitofp' or 'fptosi'."""
        line = f"{op} {self.type} {self.name} to {_type(kind, self.width)}"
        return self.text.new(kind, self.width, line)

    def splat(self, width: int) -> Num:
        """The vector that repeats it."""
        if width == self.width:
            return self
        kind = _type(self.kind, width)
        line = f"insertelement {kind} poison, {self.type} {self.name}, i64 0"
        one = self.text.new(self.kind, width, line)
        line = f"shufflevector {kind} {one.name}, {kind} poison, <{width} x i32> zeroinitializer"
        return self.text.new(self.kind, width, line)

    def entry(self, i: int) -> Num:
        """An entry of the vector."""
        if self.width == 1:
            return self
        return self.text.new(self.kind, 1, f"extractelement {self.type} {self.name}, i64 {i}")

    def first(self, width: int) -> Num:
        """The vector of this number, and then zeros; a vector of this width stays as it is."""
        if width == self.width:
            return self
        kind = _type(self.kind, width)
        line = f"insertelement {kind} zeroinitializer, {self.type} {self.name}, i64 0"
        return self.text.new(self.kind, width, line)

    def sum(self) -> Num:
        """The sum of the numbers of a vector."""
        if self.width == 1:
            return self
        name = f"@llvm.vector.reduce.fadd.v{self.width}f64"
        self.text.declared.add(f"declare double {name}(double, {self.type})")
        line = f"call reassoc double {name}(double -0.0, {self.type} {self.name})"
        return self.text.new("double", 1, line)

    def array(self, kind: str) -> Array:
        """The array that begins at this address."""
        pointer = self.text.new("ptr", 1, f"inttoptr i64 {self.name} to ptr")
        return Array(self.text, pointer.name, kind)


class Array(NamedTuple):
    """An array in memory."""

    text: Text
    name: str
    kind: str

    def part(self, start: Any) -> Array:
        """The part that begins at an index."""
        return self._replace(name=self._pointer(start))

    def _pointer(self, index: Any) -> str:
        name = index.name if isinstance(index, Num) else index
        step = f"getelementptr {self.kind}, ptr {self.name}, i64 {name}"
        return self.text.new("ptr", 1, step).name

    def read(self, index: Any, width: int = 1) -> Num:
        """The numbers from this index on."""
        kind = _type(self.kind, width)
        line = f"load {kind}, ptr {self._pointer(index)}, align {BYTES[self.kind]}"
        found = self.text.new(self.kind, width, line)
        return found.cast("sext", "i64") if self.kind == "i32" else found

    def write(self, index: Any, numbers: Any) -> None:
        """Stores numbers from this index on."""
        numbers = self.text.number(numbers, self.kind)
        pointer, align = self._pointer(index), BYTES[self.kind]
        self.text.line(f"store {numbers.type} {numbers.name}, ptr {pointer}, align {align}")


class Text:
    """A text in LLVM's language, which grows line by line."""

    def __init__(self) -> None:
        self.is_unrolled = False  # whether loops are written turn by turn
        self.declared: set[str] = set()
        self._lines: list[str] = []
        self._block = ""  # the label of the block that is being written
        self._n = 0

    def line(self, text: str) -> None:
        """Adds a line."""
        self._lines.append(f" {text}")

    def new(self, kind: str, width: int, text: str) -> Num:
        """The number that a new line computes."""
        self._n += 1
        name = f"%v{self._n}"
        self._lines.append(f" {name} = {text}")
        return Num(self, name, kind, width)

    def number(self, x: Any, kind: str, width: int = 1) -> Num:
        """A Num; a number of Python becomes a constant."""
        if isinstance(x, Num):
            return x.splat(width) if x.width < width else x
        if kind == "double":
            name = f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"
        else:
            name = str(int(x))
        return Num(self, name if width == 1 else f"splat ({kind} {name})", kind, width)

    def alike(self, a: Any, b: Any) -> tuple[Num, Num]:
        """Both numbers, with the same width."""
        nums = [x for x in (a, b) if isinstance(x, Num)]
        kind, width = nums[0].kind, max(x.width for x in nums)
        return self.number(a, kind, width), self.number(b, kind, width)

    # ---- functions, loops and branches

    def function(self, name: str, is_loop: bool = True, **arguments: str) -> list[Any]:
        """Begins a function; the previous one is complete. LLVM optimizes only those with loops.

        The kind of an argument is 'number' for a whole number, or that of the numbers in an array,
        which does not overlap with the other arrays.
        """
        self._end()
        types = ["i64" if kind == "number" else "ptr noalias" for kind in arguments.values()]
        listed = ", ".join(f"{kind} %{x}" for kind, x in zip(types, arguments, strict=True))
        public = "" if name == "run" else "internal "
        how = "" if is_loop else " optnone noinline"  # optimizing would take most of the time
        self._lines.append(f"define {public}void @{name}({listed}){how} {{")
        self._label("start")
        return [
            Num(self, f"%{x}", "i64") if kind == "number" else Array(self, f"%{x}", kind)
            for x, kind in arguments.items()
        ]

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of this text with arrays and whole numbers."""
        listed = [
            f"ptr {x.name}" if isinstance(x, Array) else f"i64 {self.number(x, 'i64').name}"
            for x in arguments
        ]
        self.line(f"call void @{name}({', '.join(listed)})")

    def called(self, name: str, given: Sequence[Num]) -> Num:
        """The result of a function from elsewhere, of the same type as the numbers given."""
        x, types = given[0], ", ".join(x.type for x in given)
        self.declared.add(f"declare {x.type} {name}({types})")
        listed = ", ".join(f"{x.type} {x.name}" for x in given)
        return self.new(x.kind, x.width, f"call {x.type} {name}({listed})")

    def finished(self) -> str:
        """The whole text."""
        self._end()
        return "\n".join([*self._lines, *sorted(self.declared)])

    def _end(self) -> None:
        if self._lines:
            self._lines += [" ret void", "}"]

    def _label(self, name: str) -> None:
        self._lines.append(f"{name}:")
        self._block = name

    def _labels(self, *names: str) -> list[str]:
        self._n += 1
        return [f"{name}{self._n}" for name in names]

    def range(
        self, stop: Any, start: Any = 0, step: int = 1, carried: list[Any] | None = None
    ) -> Iterator[Any]:
        """A loop with at least one turn; a single turn is written without a loop.

        The end is not reached if `step` does not divide the range. The body replaces the numbers in
        `carried` in each turn; afterwards, they are those of the last one.
        """
        is_single = isinstance(stop, int) and isinstance(start, int) and stop - start <= step
        if is_single or self.is_unrolled:
            yield from range(start, stop, step)
            return
        carried = [] if carried is None else carried
        head, end = self._labels("loop", "end")
        before = self._block
        self.line(f"br label %{head}")
        self._label(head)
        first = len(self._lines)
        names = [f"%{head}c{i}" for i in range(len(carried) + 1)]
        starts = [self.number(start, "i64"), *carried]
        self._lines += [""] * len(names)  # the phis, whose operands are not known yet
        index, *carried[:] = (
            Num(self, name, x.kind, x.width) for name, x in zip(names, starts, strict=True)
        )
        yield index
        following = index + step
        limit = self.number(stop, "i64")
        after = (following < limit).name
        for i, (x, y) in enumerate(zip(starts, [following, *carried], strict=True)):
            self._lines[first + i] = (
                f" {names[i]} = phi {x.type} [{x.name}, %{before}], [{y.name}, %{self._block}]"
            )
        self.line(f"br i1 {after}, label %{head}, label %{end}")
        self._label(end)

    @contextmanager
    def when(self, condition: Num) -> Iterator[None]:
        """A part of the text that runs only if the condition is true."""
        then, end = self._labels("then", "end")
        self.line(f"br i1 {condition.name}, label %{then}, label %{end}")
        self._label(then)
        yield
        self.line(f"br label %{end}")
        self._label(end)

    def cases(self, index: Num, n: int) -> Iterator[int]:
        """The cases 0 ... n - 1, of which only that of the index runs."""
        *labels, end = self._labels(*(f"case{i}_" for i in range(n)), "end")
        listed = " ".join(f"i64 {i}, label %{label}" for i, label in enumerate(labels))
        self.line(f"switch i64 {index.name}, label %{end} [{listed}]")
        for i, label in enumerate(labels):
            self._label(label)
            yield i
            self.line(f"br label %{end}")
        self._label(end)

    def joined(self, numbers: Sequence[Num]) -> Num:
        """The vector of these numbers."""
        if len(numbers) == 1:
            return numbers[0]
        kind, width = numbers[0].kind, len(numbers)
        found = "poison"
        for i, x in enumerate(numbers):
            line = f"insertelement {_type(kind, width)} {found}, {x.type} {x.name}, i64 {i}"
            found = self.new(kind, width, line).name
        return Num(self, found, kind, width)

    def minimum(self, a: Any, b: Any) -> Any:
        """The smaller one of two whole numbers."""
        return (a < b).where(a, b) if isinstance(a, Num) else (b > a).where(a, b)


def _type(kind: str, width: int) -> str:
    return kind if width == 1 else f"<{width} x {kind}>"


# ---- functions of numbers, without branches, so that they run on vectors


def _series(coefficients: Sequence[float], x: Any) -> Any:
    return reduce(lambda rest, c: rest * x + c, reversed(coefficients[:-1]), coefficients[-1])


EXP_SERIES = [1 / math.factorial(n) for n in range(2, 14)]
LOG_SERIES = [2 / n for n in range(3, 24, 2)]


def _power_of_two(exponent: Num) -> Any:
    """2 ** exponent, for a whole exponent from -1022 to 1023."""
    return (((exponent + ROUNDER).cast("bitcast", "i64") << 52) + (1023 << 52)).cast(
        "bitcast", "double"
    )


def _split_exp(x: Num) -> tuple[Any, Any]:
    """(e, k) with exp(x) = (1 + e) 2^k, where k is whole and e is between -0.3 and 0.42."""
    k = (x * 1.4426950408889634 + ROUNDER) - ROUNDER
    rest = (x - k * LOG2) - k * LOG2_REST
    return rest + rest * rest * _series(EXP_SERIES, rest), k


def exp(x: Num) -> Any:
    """The exponential: 0 below -746, infinity above 710."""
    bounded = (x > 710.0).where(710.0, (x < -746.0).where(-746.0, x))
    e, k = _split_exp(bounded)
    half = (k * 0.5 + ROUNDER) - ROUNDER  # 2^k alone may overflow where exp(x) does not
    return (e + 1.0) * _power_of_two(half) * _power_of_two(k - half)


def tanh(x: Num) -> Any:
    """The hyperbolic tangent: with m = exp(-2 |x|) - 1 it is -m / (m + 2), with the sign of x."""
    size = (abs(x) > 20.0).where(20.0, abs(x))
    e, k = _split_exp(size * -2.0)
    scale = _power_of_two(k)
    m = e * scale + (scale - 1.0)
    return (-m / (m + 2.0)).call("copysign", x)


def sigmoid(x: Num) -> Any:
    """1 / (1 + exp(-x)), stable at both ends."""
    e = exp(-abs(x))
    return (x < 0.0).where(e, 1.0) / (e + 1.0)


def log(x: Num) -> Any:
    """The natural logarithm: x = 2^k m with m near 1, log m = 2 artanh s, s = (m - 1) / (m + 1)."""
    denormal = x < 2.2250738585072014e-308
    bits = denormal.where(x * 2.0**54, x).cast("bitcast", "i64")
    whole = (bits - ROOT_HALF) >> 52
    m = (bits - (whole << 52)).cast("bitcast", "double")
    k = whole.cast("sitofp", "double") - denormal.where(54.0, 0.0)
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    result = k * LOG2 + (s * 2.0 + (s * square * _series(LOG_SERIES, square) + k * LOG2_REST))
    outside = (x > 0.0).where(x, x.compared("==", 0.0).where(-math.inf, math.nan))
    return ((x > 0.0) & (x < math.inf)).where(result, outside)


def relu(x: Num) -> Any:
    """The number, or 0 if it is negative."""
    return (x < 0.0).where(0.0, x)


def larger(x: Num, y: Num) -> Any:
    """The larger number; NaN if one of them is NaN."""
    return ((x > y) | x.is_nan()).where(x, y)


def smaller(x: Num, y: Num) -> Any:
    """The smaller number; NaN if one of them is NaN."""
    return ((x < y) | x.is_nan()).where(x, y)


def of_c(name: str) -> Callable[..., Any]:
    """A function of C's library, which takes the numbers of a vector one by one."""

    def function(x: Num, *others: Any) -> Num:
        text, given = x.text, [x, *(x.text.alike(x, y)[1] for y in others)]
        entries = [[y.entry(i) for y in given] for i in range(x.width)]
        return text.joined([text.called(f"@{name}", some) for some in entries])

    return function


def logaddexp(x: Num, y: Num) -> Any:
    """The logarithm of exp(x) + exp(y), which may be too large themselves."""
    x, y = x.text.alike(x, y)
    difference = x.compared("==", y).where(0.0, x - y)  # that of two infinities is not defined
    return larger(x, y) + of_c("log1p")(exp(-abs(difference)))


# ---- machine code


class Machine(NamedTuple):
    """What the text is compiled for: a processor, with LLVM's names of it and its features.

    A vector register holds `width` doubles; `tile` vectors of sums are in registers at once.
    """

    width: int
    tile: int
    name: str
    features: str


@cache
def machine() -> Machine:
    """The processor of this computer."""
    import llvmlite.binding as llvm

    with one_at_a_time:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        found = llvm.get_host_cpu_name(), features.flatten()
    if features.get("avx512f"):
        return Machine(8, 16, *found)
    return Machine(4, 12, *found) if features.get("avx2") else Machine(2, 12, *found)


def machine_code(text: str) -> Any:
    """The function `run` of a text, which takes an address; its machine code is freed with it.

    >>> text = Text()
    >>> [numbers] = text.function("run", numbers="double")
    >>> numbers.write(0, numbers.read(0, width=4) * 2.0)
    >>> array = (ctypes.c_double * 4)(1, 2, 3, 4)
    >>> machine_code(text.finished())(ctypes.addressof(array))
    >>> list(array)
    [2.0, 4.0, 6.0, 8.0]
    """
    import llvmlite.binding as llvm

    found = machine()
    with one_at_a_time:  # LLVM is not made for several threads
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=found.name, features=found.features, opt=2
        )  # the engine will own it
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), target)
        engine.finalize_object()
        address = engine.get_function_address("run")
    run = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(address)
    run.engine = engine  # type: ignore[attr-defined]
    return run
