"""The kernel: machine code that runs all programs, so that a new program runs immediately.

Compiling a program would take seconds, although running it takes microseconds. An interpreter is
compiled only once, but if it handles single instructions, as Python's does, it spends a hundred
times longer on dispatch than on arithmetic. Here each step handles a whole group of operations on
several hundred numbers. Only numbers that depend on each other one by one are handled singly, in
steps called SERIAL.

    memory      an array of numbers; a place is an index into it
    program     an array of integers: the size of the memory, then the steps, one after the other

A step begins with its operation and its length; `encode.py` writes the steps.

Almost all the arithmetic of a network is sums of products, and most of the time goes into loading
their factors. `_matrix_tile` keeps a tile of sums in registers, so each loaded number is used in
several sums. Its vectors run over lanes, or over adjacent results if there is only one lane.

    >>> import numpy as np
    >>> memory = np.array([1.0, 2.0, 0.0, 0.0])
    >>> double = [list(FUNCTIONS).index("+"), 8, 2, 2, 0, 0, 0, 0]  # 2 numbers, written to place 2
    >>> program = np.array([len(memory), *double], np.int32)
    >>> addresses = program.ctypes.data, memory.ctypes.data
    >>> table = jobs([], [(PROGRAM, *addresses, len(program), len(memory), 1, len(program))])
    >>> compile_now()
    >>> run(table.ctypes.data)
    0
    >>> memory
    array([1., 2., 2., 4.])

Source of the tiles: K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication
(2008), sections 4 and 6.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# ---- 1. Memory

NUMBER, INDEX, SHORT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
WHOLE = types.int64
F = TypeVar("F", bound=Callable[..., Any])
FUSED = ("contract",)  # a * b + c is rounded once; all else follows the IEEE standard

OPTIONS: dict[str, Any] = {"fastmath": set(FUSED), "error_model": "numpy"}
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # kernel-internal

# With this variable of the environment set, each access to memory is checked, for tests.
CHECKED = bool(os.environ.get("MICROGRAD_CHECKED_KERNEL"))
_checks = np.zeros(3, np.int64)  # the lengths of memory and program, the number of wrong accesses


def _compiled(function: F) -> F:
    """The function, compiled as a part of the kernel."""
    return cast(F, numba.njit(**OPTIONS, **INNER)(function))


def _inlined(function: F) -> F:
    """The same for a function with one caller, which contains most of the kernel.

    LLVM compiles all code again for each level of calls, so three levels take twice as long as one.
    """
    return cast(F, numba.njit(inline="always", **OPTIONS, **INNER)(function))


def _instruction(result: Any, *operands: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that turns a builder of LLVM code into an instruction of the kernel."""

    def of(build: Callable[..., Any]) -> Any:
        def code(context: Any, builder: Any, _: Any, values: Any) -> Any:
            built = build(builder, *values)
            return context.get_dummy_value() if built is None else built

        def typed(typing: Any, *_: Any) -> Any:
            return result(*operands), code

        typed.__signature__ = inspect.signature(build)  # type: ignore[attr-defined]
        return intrinsic(typed)

    return of


def _check(builder: Any, which: int) -> Any:
    # The address of an entry of _checks.
    return builder.inttoptr(INDEX(_checks[which:].ctypes.data), ir.PointerType())


def _pointer(builder: Any, array: Any, index: Any, kind: Any = NUMBER) -> Any:
    """The address of an entry of the memory or the program: all their accesses go through here."""
    if CHECKED:
        size = builder.load(_check(builder, int(kind is SHORT)), typ=INDEX)
        end = builder.sub(size, INDEX(WIDTH if kind is VECTOR else 1))
        outside = builder.icmp_unsigned(">", index, end)  # a negative index is huge
        wrong = builder.load(_check(builder, 2), typ=INDEX)
        builder.store(builder.add(wrong, builder.zext(outside, INDEX)), _check(builder, 2))
        index = builder.select(outside, INDEX(0), index)
    return _unchecked(builder, array, index, SHORT if kind is SHORT else NUMBER)


def _unchecked(builder: Any, array: Any, index: Any, kind: Any) -> Any:
    start = builder.inttoptr(array, ir.PointerType())
    return builder.gep(start, [index], source_etype=kind)


@_instruction(types.void, WHOLE, WHOLE)
def _allow(builder: Any, memory_size: Any, program_size: Any) -> None:
    """Sets the limits of later accesses, if they are checked."""
    if CHECKED:
        for which, number in enumerate((memory_size, program_size, INDEX(0))):
            builder.store(number, _check(builder, which))


@_instruction(WHOLE, WHOLE)
def _wrong_accesses(builder: Any, _: Any) -> Any:
    """The number of wrong accesses since `_allow`; 0 if they are not checked."""
    return builder.load(_check(builder, 2), typ=INDEX) if CHECKED else INDEX(0)


def _access(kind: Any, pointer: Callable[..., Any]) -> tuple[Any, Any]:
    """Two instructions: one reads the number at an index, one writes it."""
    number = WHOLE if kind is INDEX else types.float64

    def read(builder: Any, array: Any, index: Any) -> Any:
        return builder.load(pointer(builder, array, index, kind), typ=kind)

    def write(builder: Any, array: Any, index: Any, value: Any) -> None:
        builder.store(value, pointer(builder, array, index, kind))

    writer = _instruction(types.void, WHOLE, WHOLE, number)(write)
    return _instruction(number, WHOLE, WHOLE)(read), writer


_get, _put = _access(NUMBER, _pointer)  # at a place of the memory
# Jobs also use other memory, whose size their caller knows: these accesses are not checked.
_number, _set_number = _access(NUMBER, _unchecked)
_word, _set_word = _access(INDEX, _unchecked)  # integers of 8 bytes


def _integer(builder: Any, program: Any, index: Any) -> Any:
    pointer = _pointer(builder, program, index, SHORT)
    return builder.sext(builder.load(pointer, typ=SHORT), INDEX)


_entry = _instruction(WHOLE, WHOLE, WHOLE)(_integer)  # the integer at an index of a program


@_compiled
def _four(program: int, at: int) -> tuple[int, int, int, int]:
    return (
        _entry(program, at), _entry(program, at + 1), _entry(program, at + 2),
        _entry(program, at + 3),
    )  # fmt: skip


# ---- 2. Functions of one to four numbers, without branches, so that they run on vectors

LOG2, LOG2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 1.5 * 2.0**52  # adding it puts the nearest whole number into the last bits
ROOT_HALF = int(np.float64(0.5**0.5).view(np.int64))


def _polynomial(coefficients: Sequence[float]) -> Any:
    """The function c0 + c1 x + c2 x^2 + ..."""
    formula = reduce(lambda rest, c: f"{c!r} + x * ({rest})", reversed(coefficients), "0.0")
    return _compiled(eval(f"lambda x: {formula}"))


_exp_series = _polynomial([1 / math.factorial(n) for n in range(2, 14)])
_log_series = _polynomial([2 / n for n in range(3, 24, 2)])


@_compiled
def _power_of_two(exponent: float) -> float:
    """2 ** exponent, for a whole exponent from -1022 to 1023."""
    bits = np.float64(exponent + ROUNDER).view(np.int64) << 52
    return np.int64(bits + (1023 << 52)).view(np.float64)


@_compiled
def _split_exp(x: float) -> tuple[float, float]:
    """(e, k) with exp(x) = (1 + e) 2^k, where k is whole and e is between -0.3 and 0.42."""
    k = (x * 1.4426950408889634 + ROUNDER) - ROUNDER
    rest = (x - k * LOG2) - k * LOG2_REST
    return rest + rest * rest * _exp_series(rest), k


@_compiled
def _exp(x: float) -> float:
    """The exponential: 0 below -746, infinity above 710."""
    bounded = 710.0 if x > 710.0 else (-746.0 if x < -746.0 else x)
    e, k = _split_exp(bounded)
    half = (k * 0.5 + ROUNDER) - ROUNDER  # 2^k alone may overflow where exp(x) does not
    return (1.0 + e) * _power_of_two(half) * _power_of_two(k - half)


@_compiled
def _tanh(x: float) -> float:
    """The hyperbolic tangent: with m = exp(-2 |x|) - 1 it is -m / (m + 2), with the sign of x."""
    size = 20.0 if abs(x) > 20.0 else abs(x)
    e, k = _split_exp(-2.0 * size)
    scale = _power_of_two(k)
    m = e * scale + (scale - 1.0)
    return math.copysign(-m / (m + 2.0), x)


@_compiled
def _sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), stable at both ends."""
    e = _exp(-abs(x))
    return (e if x < 0.0 else 1.0) / (1.0 + e)


@_compiled
def _log(x: float) -> float:
    """The natural logarithm: x = 2^k m with m near 1, log m = 2 artanh s, s = (m - 1) / (m + 1)."""
    denormal = x < 2.2250738585072014e-308
    bits = np.float64(x * 2.0**54 if denormal else x).view(np.int64)
    whole = (bits - ROOT_HALF) >> 52
    m = np.int64(bits - (whole << 52)).view(np.float64)
    k = whole - (54.0 if denormal else 0.0)
    s = (m - 1.0) / (m + 1.0)
    result = k * LOG2 + (2.0 * s + (s * s * s * _log_series(s * s) + k * LOG2_REST))
    outside = x if x > 0.0 else (-np.inf if x == 0.0 else np.nan)
    return result if 0.0 < x < np.inf else outside


FUNCTIONS = {
    "+": "x + y", "-": "x - y", "*": "x * y", "/": "x / y", "**": "x**y", "neg": "-x",
    "abs": "abs(x)", "where <": "a if x < y else b", "where <=": "a if x <= y else b",
    "where >": "a if x > y else b", "where >=": "a if x >= y else b",
    "where is": "a if x == y else b", "exp": "_exp(x)", "log": "_log(x)", "sqrt": "math.sqrt(x)",
    "sin": "math.sin(x)", "cos": "math.cos(x)", "tanh": "_tanh(x)", "sigmoid": "_sigmoid(x)",
    "relu": "0.0 if x < 0.0 else x",
    "maximum": "x if x > y or x != x else y", "minimum": "x if x < y or x != x else y",
    "copy": "x", "add product": "x + y * a", "subtract product": "x - y * a",
}  # fmt: skip
SERIAL_FUNCTIONS = FUNCTIONS | {"sum": "(x + y) + (a + b)"}
REDUCTIONS = {"sum": "x + y", "largest": FUNCTIONS["maximum"], "smallest": FUNCTIONS["minimum"]}


def _switch(arguments: str, case: str, functions: Mapping[str, str]) -> Any:
    """A function that selects a case by its first argument, the position of an operation."""
    lines = [f"def switch(op, {arguments}):", "    result = 0.0"]
    for op, formula in enumerate(functions.values()):
        lines += [f"    {'el' * (op > 0)}if op == {op}:", f"        {case.format(formula)}"]
    names = dict(globals())
    exec("\n".join([*lines, "    return result"]), names)
    return _compiled(names["switch"])


PLACES = {"x": "xs", "y": "ys", "a": "as_", "b": "bs"}  # where each operand begins
_function = _switch("x, y, a, b", "result = {}", SERIAL_FUNCTIONS)
_reduced = _switch("x, y", "result = {}", REDUCTIONS)
_elementwise = _switch(
    "m, n, out, xs, ys, as_, bs",
    "for i in range(n): _put(m, out + i, {})",
    {  # each function reads only the operands that it has
        op: re.sub(r"\b([xyab])\b", lambda found: f"_get(m, {PLACES[found[1]]} + i)", formula)
        for op, formula in FUNCTIONS.items()
    },
)

# ---- 3. Tiles of sums of products

_features = binding.get_host_cpu_features()
if _features.get("avx512f"):
    # numbers in a vector; rows and vectors of a matrix tile; columns of a tile of means
    WIDTH, ROWS, VECTORS, COLUMNS = 8, 4, 4, 4
elif _features.get("avx"):
    WIDTH, ROWS, VECTORS, COLUMNS = 4, 4, 3, 2  # 16 registers hold 12 sums and their factors
else:
    WIDTH, ROWS, VECTORS, COLUMNS = 2, 4, 4, 4
VECTOR = ir.VectorType(NUMBER, WIDTH)
LEFT_IN_LANES = 0  # a tile of this height is one row, whose left factors are also in lanes


def _vector(builder: Any, memory: Any, place: Any) -> Any:
    return builder.load(_pointer(builder, memory, place, VECTOR), typ=VECTOR, align=8)


def _everywhere(builder: Any, number: Any, kind: Any = VECTOR) -> Any:
    # A vector that repeats one number.
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, INDEX(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None))


def _zeros(builder: Any, n: int) -> list[Any]:
    zero = ir.Constant(VECTOR, None)
    variable: Any = cgutils.alloca_once  # LLVM turns these into registers
    sums = [variable(builder, VECTOR) for _ in range(n)]
    for total in sums:
        builder.store(zero, total)
    return sums


def _add_product(builder: Any, total: Any, x: Any, y: Any) -> None:
    product = builder.fmul(x, y, flags=FUSED)
    builder.store(builder.fadd(builder.load(total, typ=VECTOR), product, flags=FUSED), total)


def _each_shape(
    builder: Any, shape: tuple[Any, Any], heights: Any, widths: Any, build: Callable[..., None]
) -> None:
    # Builds code for a tile of each shape, and a switch that selects one at run time.
    done = builder.append_basic_block()
    chosen = builder.switch(builder.add(builder.mul(shape[0], INDEX(8)), shape[1]), done)
    for height, width in itertools.product(heights, widths):
        block = builder.append_basic_block()
        chosen.add_case(INDEX(height * 8 + width), block)
        with builder.goto_block(block):
            build(builder, height, width)
            builder.branch(done)
    builder.position_at_end(done)


@_instruction(types.void, *[WHOLE] * 11)
def _matrix_tile(
    builder: Any, height: Any, vectors: Any, terms: Any, program: Any, left: Any, right: Any,
    memory: Any, start: Any, last: Any, out: Any, out_step: Any
) -> None:  # fmt: skip
    """Computes a few rows of vectors: sum_k left[i, k] right[k, j].

    Vectors run along a row; each vector of `right` is loaded once for all rows of the tile.

        height              rows of the tile: LEFT_IN_LANES, 1 or ROWS
        vectors             vectors in a row, at most VECTORS
        terms               products in a sum
        left                index of the places of the left factors, `terms` places for each row
        right               index of the places of the right factors, `terms` places for all rows
        start               first lane of the tile
        last                lane where the last vector begins; it may overlap the previous one
        out                 place of the first sum of the row
        out_step            distance from one row of sums to the next
    """

    def tile(builder: Any, height: int, vectors: int) -> None:
        rows = range(height or 1)
        lanes = [builder.add(start, INDEX(v * WIDTH)) for v in range(vectors - 1)] + [last]
        sums = _zeros(builder, len(rows) * vectors)
        with cgutils.for_range(builder, terms) as loop:
            first = _integer(builder, program, builder.add(right, loop.index))
            xs = [_vector(builder, memory, builder.add(first, lane)) for lane in lanes]
            for i in rows:
                index = builder.add(builder.mul(INDEX(i), terms), loop.index)
                place = _integer(builder, program, builder.add(left, index))
                if height == LEFT_IN_LANES:
                    ws = [_vector(builder, memory, builder.add(place, lane)) for lane in lanes]
                else:
                    w = builder.load(_pointer(builder, memory, place), typ=NUMBER)
                    ws = [_everywhere(builder, w)] * vectors
                for v in range(vectors):
                    _add_product(builder, sums[i * vectors + v], ws[v], xs[v])
        for i in rows:
            for v, lane in enumerate(lanes):
                place = builder.add(out, builder.add(builder.mul(INDEX(i), out_step), lane))
                result = builder.load(sums[i * vectors + v], typ=VECTOR)
                builder.store(result, _pointer(builder, memory, place, VECTOR), align=8)

    _each_shape(builder, (height, vectors), (LEFT_IN_LANES, 1, ROWS), range(1, VECTORS + 1), tile)


@_instruction(types.void, *[WHOLE] * 8, types.float64, WHOLE, WHOLE)
def _mean_tile(
    builder: Any, height: Any, breadth: Any, terms: Any, program: Any, left: Any, right: Any,
    memory: Any, lanes: Any, factor: Any, out: Any, out_step: Any
) -> None:  # fmt: skip
    """Computes a few rows of numbers: factor * sum over k and all lanes of left[i, k] right[j, k].

    Like `_matrix_tile`, but `height` is 1 or ROWS and `breadth` 1 or COLUMNS; there are at least
    WIDTH lanes.
    """

    def tile(builder: Any, height: int, breadth: int) -> None:
        rows, columns = range(height), range(breadth)
        sums = _zeros(builder, height * breadth)
        rest = builder.and_(lanes, INDEX(WIDTH - 1))
        full = builder.sub(lanes, rest)
        positions = ir.Constant(ir.VectorType(INDEX, WIDTH), list(range(WIDTH)))
        seen = builder.sub(INDEX(WIDTH), rest)  # the last vector repeats this many numbers
        new = builder.icmp_signed(">=", positions, _everywhere(builder, seen, positions.type))
        zero = ir.Constant(VECTOR, None)

        def add_products(lane: Any, places: Any, mask: Any = None) -> None:
            vectors = [_vector(builder, memory, builder.add(place, lane)) for place in places]
            if mask is not None:
                vectors = [builder.select(mask, x, zero) for x in vectors]
            for i in rows:
                for j in columns:
                    total = sums[i * breadth + j]
                    _add_product(builder, total, vectors[i], vectors[height + j])

        with cgutils.for_range(builder, terms) as loop:
            indices = [(left, i) for i in rows] + [(right, j) for j in columns]
            places = []
            for first, i in indices:
                index = builder.add(builder.mul(INDEX(i), terms), loop.index)
                places.append(_integer(builder, program, builder.add(first, index)))
            with cgutils.for_range_slice(builder, INDEX(0), full, INDEX(WIDTH), INDEX) as (lane, _):
                add_products(lane, places)
            with builder.if_then(builder.icmp_signed("!=", rest, INDEX(0))):
                add_products(builder.sub(lanes, INDEX(WIDTH)), places, new)
        totals = [builder.load(total, typ=VECTOR) for total in sums]
        totals += [zero] * (-len(totals) % WIDTH)
        part = min(WIDTH, breadth)
        for first in range(0, height * breadth, WIDTH):
            vector = _across(builder, totals[first : first + WIDTH])
            vector = builder.fmul(vector, _everywhere(builder, factor))
            for at in range(0, min(WIDTH, height * breadth), part):
                i, j = divmod(first + at, breadth)
                place = builder.add(builder.mul(INDEX(i), out_step), INDEX(j))
                pointer = _pointer(builder, memory, builder.add(out, place))
                result = _chosen(builder, vector, vector, range(at, at + part))
                builder.store(result, pointer, align=8)

    _each_shape(builder, (height, breadth), (1, ROWS), (1, COLUMNS), tile)


def _chosen(builder: Any, x: Any, y: Any, positions: Sequence[int]) -> Any:
    # The vector of the numbers at these positions in the concatenation of x and y.
    kind = ir.VectorType(ir.IntType(32), len(positions))
    return builder.shuffle_vector(x, y, ir.Constant(kind, list(positions)))


def _across(builder: Any, vectors: list[Any]) -> Any:
    # A vector with the sum of each of WIDTH vectors: adjacent numbers are added repeatedly.
    while len(vectors) > 1:
        vectors = [
            builder.fadd(
                _chosen(builder, x, y, range(0, 2 * WIDTH, 2)),
                _chosen(builder, x, y, range(1, 2 * WIDTH, 2)),
            )
            for x, y in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


# ---- 4. Steps; `at` is the index of the integers after the operation and the length


@_compiled
def _serial(program: int, at: int, m: int) -> None:
    """A list of operations on single numbers: operation, place of the result, four operands."""
    for row in range(at + 1, at + 1 + 6 * _entry(program, at), 6):
        x, y, a, b = _four(program, row + 2)
        result = _function(_entry(program, row), _get(m, x), _get(m, y), _get(m, a), _get(m, b))
        _put(m, _entry(program, row + 1), result)


@_compiled
def _gather(program: int, at: int, m: int) -> None:
    """Copies of rows, one below the other; a row may repeat a single number."""
    count, width, move, out = _four(program, at)
    if width == 1:
        for i in range(count):
            _put(m, out + i, _get(m, _entry(program, at + 4 + i)))
        return
    for i in range(count):
        x, row = _entry(program, at + 4 + i), out + i * width
        if move:
            for lane in range(width):
                _put(m, row + lane, _get(m, x + lane))
        else:
            number = _get(m, x)
            for lane in range(width):
                _put(m, row + lane, number)


@_compiled
def _matrix_products(program: int, at: int, m: int) -> None:
    """Matrix products in tiles: rows of n >= WIDTH numbers, `height` rows for each right list."""
    count, several, height, n = _four(program, at)
    terms, out, jump, out_step = _four(program, at + 4)
    tall, broad = _entry(program, at + 8), _entry(program, at + 9)
    left = at + 10
    right = left + count * height * terms
    vectors, high = (n + WIDTH - 1) // WIDTH, max(tall, 1)
    for _ in range(count):
        for j in range(several):
            start = 0
            while start < vectors:
                size = min(broad, vectors - start)
                last = min((start + size - 1) * WIDTH, n - WIDTH)
                row = 0
                while row < height:
                    row = min(row, height - high)
                    _matrix_tile(
                        tall, size, terms, program, left + row * terms, right, m, start * WIDTH,
                        last, out + j * jump + row * out_step, out_step,
                    )  # fmt: skip
                    row += high
                start += size
            right += terms
        left += height * terms
        out += several * height * n


@_compiled
def _inner_products(program: int, at: int, m: int) -> None:
    """Matrices of sums over n >= WIDTH adjacent numbers, divided by `divisor`, in tiles."""
    count, rows, columns, terms = _four(program, at)
    n, out, divisor, _ = _four(program, at + 4)
    left = at + 7
    right = left + count * rows * terms
    factor = 1.0 / divisor
    height, breadth = ROWS if rows >= ROWS else 1, COLUMNS if columns >= COLUMNS else 1
    for _ in range(count):
        row = 0
        while row < rows:
            row = min(row, rows - height)
            column = 0
            while column < columns:
                column = min(column, columns - breadth)
                _mean_tile(
                    height, breadth, terms, program, left + row * terms, right + column * terms,
                    m, n, factor, out + row * columns + column, columns,
                )  # fmt: skip
                column += breadth
            row += height
        left += rows * terms
        right += columns * terms
        out += rows * columns


@_compiled
def _plain_products(program: int, at: int, m: int) -> None:
    """Matrices of sums of products that do not fit into tiles, one sum at a time."""
    count, rows, columns, terms = _four(program, at)
    width, out, left_move, right_move = _four(program, at + 4)
    mean = _entry(program, at + 8)
    left = at + 9
    right = left + count * rows * terms
    factor = 1.0 / width
    for _ in range(count):
        for _ in range(rows):
            first = right
            for _ in range(columns):
                total = 0.0
                for lane in range(width):
                    for k in range(terms):
                        x = _get(m, _entry(program, left + k) + lane * left_move)
                        total += x * _get(m, _entry(program, first + k) + lane * right_move)
                    if not mean:
                        _put(m, out, total)
                        total = 0.0
                        out += 1
                if mean:
                    _put(m, out, factor * total)
                    out += 1
                first += terms
            left += terms
        right += columns * terms


@_compiled
def _reduce(op: int, program: int, at: int, m: int) -> None:
    """The sum of each list, or its largest or smallest number."""
    count, each, width, out = _four(program, at)
    for first in range(at + 4, at + 4 + count * each, each):
        start = _entry(program, first)
        if width == 1:
            total = _get(m, start)
            for k in range(first + 1, first + each):
                total = _reduced(op, total, _get(m, _entry(program, k)))
            _put(m, out, total)
        else:
            for lane in range(width):
                _put(m, out + lane, _get(m, start + lane))
            for k in range(first + 1, first + each):
                x = _entry(program, k)
                for lane in range(width):
                    _put(m, out + lane, _reduced(op, _get(m, out + lane), _get(m, x + lane)))
        out += width


@_compiled
def _take(program: int, at: int, m: int) -> bool:
    """Looks up entries of tables; returns False if an index is out of range or not whole."""
    count, length, width, out = _four(program, at)
    index_move, move = _entry(program, at + 4), _entry(program, at + 5)
    table = at + 6 + count
    for i in range(at + 6, at + 6 + count):
        for lane in range(width):
            index = _get(m, _entry(program, i) + lane * index_move)
            if not 0.0 <= index < length or index != int(index):
                return False
            _put(m, out + lane, _get(m, _entry(program, table + int(index)) + lane * move))
        table += length
        out += width
    return True


@_compiled
def _scatter(program: int, at: int, m: int) -> bool:
    """Adds numbers to entries of tables; returns False if an index is out of range or not whole."""
    count, each, length, width = _four(program, at)
    out, index_move, move, out_width = _four(program, at + 4)
    for i in range(count * length * out_width):
        _put(m, out + i, 0.0)
    out_move, factor = (1, 1.0) if out_width == width else (0, 1.0 / width)
    contribution = at + 8 + count * each
    for first in range(at + 8, contribution, each):
        for i in range(first, first + each):
            index_place, x = _entry(program, i), _entry(program, contribution)
            for lane in range(width):
                index = _get(m, index_place + lane * index_move)
                if not 0.0 <= index < length or index != int(index):
                    return False
                entry = out + int(index) * out_width + lane * out_move
                _put(m, entry, _get(m, entry) + factor * _get(m, x + lane * move))
            contribution += 1
        out += length * out_width
    return True


STEPS = (
    *FUNCTIONS, "serial", "gather", "matrix products", "inner products", "plain products", "take",
    "scatter", *REDUCTIONS,
)  # fmt: skip
SERIAL, GATHER, MATRIX, INNER_PRODUCTS, PLAIN, TAKE, SCATTER, SUM = range(
    len(FUNCTIONS), len(STEPS) - 2
)
WRONG_SIZE, WRONG_INDEX, WRONG_PLACE, NOT_FINITE = range(-4, 0)  # what `run` returns besides 0


@_inlined
def _steps(program: int, m: int, size: int, memory_size: int, first: int, last: int) -> int:
    """Runs the steps of a program from index `first` up to `last` (exclusive); returns 0.

    The kernel is fastest if the memory begins at a multiple of 64 bytes and the number of lanes is
    a multiple of 8: then no vector is loaded from two cache lines.

    Returns WRONG_SIZE if program and memory do not belong together, WRONG_INDEX if an index into a
    table is out of range or not whole, and, if accesses are checked, WRONG_PLACE if one is wrong.
    """
    _allow(memory_size, size)
    if not 0 < first <= last <= size or memory_size < _entry(program, 0):
        return WRONG_SIZE
    at = first
    while at < last:
        op, length, n, out = _four(program, at)
        found = True
        if op < SERIAL:
            x, y, a, b = _four(program, at + 4)
            _elementwise(op, m, n, out, x, y, a, b)
        elif op == SERIAL:
            _serial(program, at + 2, m)
        elif op == GATHER:
            _gather(program, at + 2, m)
        elif op == MATRIX:
            _matrix_products(program, at + 2, m)
        elif op == INNER_PRODUCTS:
            _inner_products(program, at + 2, m)
        elif op == PLAIN:
            _plain_products(program, at + 2, m)
        elif op == TAKE:
            found = _take(program, at + 2, m)
        elif op == SCATTER:
            found = _scatter(program, at + 2, m)
        else:
            _reduce(op - SUM, program, at + 2, m)
        if not found:
            return WRONG_INDEX
        if _wrong_accesses(m):
            return WRONG_PLACE
        at += length
    return 0


# ---- 5. Jobs: what one call of the kernel does

JOB = 8  # integers: the kind of a job, and its arguments
COPY, LOAD, PROGRAM, CHECK = range(4)
# A table of jobs has the numbers of steps to do, of steps done, of jobs for the first step only,
# and of all jobs. Then come the jobs.
TIMES, DONE, ONCE, END, JOBS = range(5)
EXAMPLES = 8  # how many examples are transposed at a time: a cache line of numbers


@_compiled
def _copy(out: int, source: int, n: int) -> None:
    for i in range(n):
        _set_number(out, i, _number(source, i))


@_compiled
def _load(out: int, source: int, n: int, width: int, order: int, first: int, whole: int) -> None:
    """Copies examples into lanes: rows of an array, if `order` is not 0 those that it lists."""
    start = 0
    while start < n:
        stop = min(n, start + EXAMPLES)
        for column in range(width):
            for lane in range(start, stop):
                row = first + lane
                if order:
                    row = _word(order, row)
                at = row * width + column
                number = float(_word(source, at)) if whole else _number(source, at)
                _set_number(out, column * n + lane, number)
        start = stop


@_inlined
def _job(job: int, step: int) -> int:
    """Does one job; returns 0, or what is wrong."""
    kind, a, b, c = _word(job, 0), _word(job, 1), _word(job, 2), _word(job, 3)
    d, e, f, g = _word(job, 4), _word(job, 5), _word(job, 6), _word(job, 7)
    if kind == COPY:
        _copy(a + step * d, b + step * e, c)
    elif kind == LOAD:
        _load(a, b, c, d, e, step * f, g)
    elif kind == PROGRAM:
        return _steps(a, b, c, d, e, f)
    elif not abs(_number(a, 0)) < np.inf:
        return NOT_FINITE
    return 0


def _run(table: int) -> int:
    """Does the jobs of a table (see `jobs`); returns 0, or what is wrong, which ends the steps.

    The caller provides all memory, because an array created here would be freed after the last use
    of its name, while its address is still in use.
    """
    start, end = 0, _word(table, END)
    for step in range(_word(table, TIMES)):
        for i in range(start, end):
            wrong = _job(table + 8 * (JOBS + i * JOB), step)
            if wrong:
                return wrong
        _set_word(table, DONE, step + 1)
        start = _word(table, ONCE)
    return 0


SIGNATURE = "intp(intp)"
not_cached = "its accesses to memory are checked" if CHECKED else ""
try:
    run = numba.njit(cache=not CHECKED, **OPTIONS)(_run)
except (RuntimeError, OSError) as error:  # no folder to write to, or no space in it
    not_cached = str(error)
    run = numba.njit(**OPTIONS)(_run)


def jobs(once: Sequence[Sequence[int]], each: Sequence[Sequence[int]] = (), times: int = 1) -> Any:
    """A table of jobs: some are done once, in the first step, and then some in each step.

        COPY     out, source, n, and how far `out` and `source` move in each step, in bytes
        LOAD     out, source, examples, numbers of an example, order, how far the first example
                 moves in each step, whether the numbers are integers
        PROGRAM  program, memory, their sizes, index of the first step, end
        CHECK    a number, which must be finite

    All are addresses or integers, so the caller keeps what they point to. Numbers have 8 bytes.
    """
    rows = [(*job, *[0] * (JOB - len(job))) for job in (*once, *each)]
    return np.array([times, 0, len(once), len(rows), *itertools.chain(*rows)], np.int64)


def is_ready() -> bool:
    """Whether the kernel is compiled; it is loaded if it is on disk."""
    if not run.signatures and run._cache.load_overload(SIGNATURE, run.targetctx) is not None:
        compile_now()
    return bool(run.signatures)


def compile_now() -> None:
    """Compiles the kernel, or loads it if it is on disk."""
    run.compile(SIGNATURE)


def check(result: int) -> None:
    """Raises an error if `run` has not returned 0.

    >>> check(WRONG_INDEX)
    Traceback (most recent call last):
    IndexError: take got an index that is out of range or not a whole number
    """
    if result == WRONG_INDEX:
        raise IndexError("take got an index that is out of range or not a whole number")
    if result:
        what = "memory is too small" if result == WRONG_SIZE else "a place is out of range"
        raise RuntimeError(f"the program cannot run on this memory: {what}")
