"""Programs as arrays of integers, and the kernel: one interpreter that runs them all.

Compiling a program would take seconds, although running it takes microseconds. An interpreter is
compiled only once, but if it handles single instructions, as Python's does, it spends a hundred
times longer on dispatch than on arithmetic. Here each dispatch handles a whole group of operations
on several hundred numbers. So a new program runs immediately, as fast as if it were compiled.

    program     two integers, a header for each group, then the slots of all operands
    memory      each slot of U is one number; each slot of S is a row with a number for each lane
    scratch     space for operands that must be gathered from several slots

Almost all the arithmetic of a network is sums of products, and most of the time goes into loading
their factors. `_matrix_tile` keeps a tile of sums in registers, so each loaded number is used in
several sums. Its vectors run over lanes, or over adjacent results if there is only one lane.

    >>> import numpy as np
    >>> double = Group("+", Block(True, np.array([1])), (Block(True, np.array([0])),) * 2)
    >>> U, S = np.zeros(0), np.array([[1.0, 2.0], [0.0, 0.0]])
    >>> program = encode([double], len(U), len(S))
    >>> memory = program, U, S, np.empty(scratch_size(program, lanes=2))
    >>> table = jobs([(GROUPS, *(array.ctypes.data for array in memory), 2, 0, 1)])
    >>> run(table.ctypes.data)
    0
    >>> S[1].tolist()
    [2.0, 4.0]

Source of the tiles: K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication
(2008), sections 4 and 6.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from micrograd.compiler.schedule import Block, Group

# ---- 1. Memory: an address counts bytes; an index counts the numbers after an address

NUMBER, INDEX, SHORT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
WHOLE = types.int64
F = TypeVar("F", bound=Callable[..., Any])
FUSED = ("contract",)  # a * b + c is rounded once; all else follows the IEEE standard

OPTIONS: dict[str, Any] = {"fastmath": set(FUSED), "error_model": "numpy"}
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # kernel-internal


def _compiled(function: F) -> F:
    """The function, compiled as a part of the kernel."""
    return cast(F, numba.njit(**OPTIONS, **INNER)(function))


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


def _pointer(builder: Any, address: Any, index: Any, kind: Any = NUMBER) -> Any:
    return builder.gep(builder.inttoptr(address, ir.PointerType()), [index], source_etype=kind)


@_instruction(types.float64, WHOLE, WHOLE)
def _get(builder: Any, address: Any, index: Any) -> Any:
    """The number at an index."""
    return builder.load(_pointer(builder, address, index), typ=NUMBER)


@_instruction(types.void, WHOLE, WHOLE, types.float64)
def _put(builder: Any, address: Any, index: Any, number: Any) -> None:
    """Stores the number at an index."""
    builder.store(number, _pointer(builder, address, index))


def _integer(builder: Any, program: Any, index: Any) -> Any:
    pointer = _pointer(builder, program, index, SHORT)
    return builder.sext(builder.load(pointer, typ=SHORT), INDEX)


_entry = _instruction(WHOLE, WHOLE, WHOLE)(_integer)  # the integer at an index of a program


@_instruction(WHOLE, WHOLE, WHOLE)
def _word(builder: Any, address: Any, index: Any) -> Any:
    """The integer of 8 bytes at an index."""
    return builder.load(_pointer(builder, address, index, INDEX), typ=INDEX)


@_instruction(types.void, WHOLE, WHOLE, WHOLE)
def _set_word(builder: Any, address: Any, index: Any, number: Any) -> None:
    """Stores an integer of 8 bytes at an index."""
    builder.store(number, _pointer(builder, address, index, INDEX))


# ---- 2. Functions of one to four numbers, without branches, so that they run on vectors

LOG2, LOG2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 1.5 * 2.0**52  # adding it puts the nearest whole number into the last bits
ROOT_HALF = int(np.float64(0.5**0.5).view(np.int64))


def _polynomial(coefficients: Sequence[float]) -> Any:
    """The function c0 + c1 x + c2 x^2 + ..."""
    first, rest = coefficients[0], coefficients[1:]
    if not rest:
        return _compiled(lambda x: first)
    following = _polynomial(rest)
    return _compiled(lambda x: first + x * following(x))


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


@_compiled
def _larger(x: float, y: float) -> float:
    """The maximum; NaN if x or y is NaN."""
    return x if x > y or x != x else y


@_compiled
def _smaller(x: float, y: float) -> float:
    """The minimum; NaN if x or y is NaN."""
    return x if x < y or x != x else y


FUNCTIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "+": lambda x, y, a, b: x + y,
    "-": lambda x, y, a, b: x - y,
    "*": lambda x, y, a, b: x * y,
    "/": lambda x, y, a, b: x / y,
    "**": lambda x, y, a, b: x**y,
    "neg": lambda x, y, a, b: -x,
    "abs": lambda x, y, a, b: abs(x),
    "where <": lambda x, y, a, b: a if x < y else b,
    "where <=": lambda x, y, a, b: a if x <= y else b,
    "where >": lambda x, y, a, b: a if x > y else b,
    "where >=": lambda x, y, a, b: a if x >= y else b,
    "where is": lambda x, y, a, b: a if x == y else b,
    "exp": lambda x, y, a, b: _exp(x),
    "log": lambda x, y, a, b: _log(x),
    "sqrt": lambda x, y, a, b: math.sqrt(x),
    "sin": lambda x, y, a, b: math.sin(x),
    "cos": lambda x, y, a, b: math.cos(x),
    "tanh": lambda x, y, a, b: _tanh(x),
    "sigmoid": lambda x, y, a, b: _sigmoid(x),
    "relu": lambda x, y, a, b: 0.0 if x < 0.0 else x,
    "maximum": lambda x, y, a, b: _larger(x, y),
    "minimum": lambda x, y, a, b: _smaller(x, y),
    "copy": lambda x, y, a, b: x,
}
OPS = (*FUNCTIONS, "dot", "mean", "largest", "smallest", "take", "scatter", "scatter mean")
PRODUCTS = ("dot", "mean")
DOT, MEAN, LARGEST, SMALLEST, TAKE, SCATTER, SCATTER_MEAN = range(len(FUNCTIONS), len(OPS))


def _one_of(functions: Sequence[Callable[..., Any]], first: int = 0) -> Any:
    """A function that selects one of these by its position and applies it to n numbers."""
    function, position = _compiled(functions[0]), first
    others = _one_of(functions[1:], first + 1) if functions[1:] else None

    @_compiled
    def loop(n: int, out: int, x: int, y: int, a: int, b: int) -> None:
        for i in range(n):
            _put(out, i, function(_get(x, i), _get(y, i), _get(a, i), _get(b, i)))

    if others is None:
        return _compiled(lambda op, n, out, x, y, a, b: loop(n, out, x, y, a, b))

    @_compiled
    def choice(op: int, n: int, out: int, x: int, y: int, a: int, b: int) -> None:
        if op == position:
            loop(n, out, x, y, a, b)
        else:
            others(op, n, out, x, y, a, b)

    return choice


_elementwise = _one_of(list(FUNCTIONS.values()))

# ---- 3. Tiles of sums of products

_features = binding.get_host_cpu_features()
if _features.get("avx512f"):
    WIDTH, ROWS, VECTORS = 8, 4, 4  # numbers in a vector, rows in a tile, vectors in a row
elif _features.get("avx"):
    WIDTH, ROWS, VECTORS = 4, 4, 3  # 16 registers hold 12 sums and their factors
else:
    WIDTH, ROWS, VECTORS = 2, 4, 4
VECTOR = ir.VectorType(NUMBER, WIDTH)
LEFT_IN_LANES = 0  # a tile of this height is one row, whose left factors are also in lanes


def _vector(builder: Any, address: Any, index: Any) -> Any:
    return builder.load(_pointer(builder, address, index), typ=VECTOR, align=8)


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


@_instruction(types.void, *[WHOLE] * 9, types.float64, WHOLE, WHOLE)
def _matrix_tile(
    builder: Any, height: Any, vectors: Any, terms: Any, left: Any, left_slots: Any, right: Any,
    right_slots: Any, step: Any, last: Any, factor: Any, out: Any, out_step: Any
) -> None:  # fmt: skip
    """Computes a few rows of vectors: factor * sum_k left[i, k] right[k, j].

    Vectors run along a row; each vector of `right` is loaded once for all rows of the tile.

        height              rows of the tile: LEFT_IN_LANES, 1 or ROWS
        vectors             vectors in a row, at most VECTORS
        terms               products in a sum
        left                address of slot 0 of the left factors; if in lanes, at the first lane
        right               address of slot 0 of the right factors, at the tile's first lane
        left_slots          address of the slots of the left factors, `terms` slots for each row
        right_slots         address of the slots of the right factors, `terms` slots for all rows
        step                distance from one right slot to the next, in numbers
        last                first lane of the last vector, which may overlap the previous vector
        factor              a number that multiplies all sums
        out                 address of the first sum
        out_step            distance from one row of sums to the next, in numbers
    """

    def tile(builder: Any, height: int, vectors: int) -> None:
        rows = range(height or 1)
        lanes = [INDEX(v * WIDTH) for v in range(vectors - 1)] + [last]
        sums = _zeros(builder, len(rows) * vectors)
        with cgutils.for_range(builder, terms) as loop:
            first = builder.mul(_integer(builder, right_slots, loop.index), step)
            xs = [_vector(builder, right, builder.add(first, lane)) for lane in lanes]
            for i in rows:
                place = builder.add(builder.mul(INDEX(i), terms), loop.index)
                slot = _integer(builder, left_slots, place)
                if height == LEFT_IN_LANES:
                    slot = builder.mul(slot, step)
                    ws = [_vector(builder, left, builder.add(slot, lane)) for lane in lanes]
                else:
                    w = builder.load(_pointer(builder, left, slot), typ=NUMBER)
                    ws = [_everywhere(builder, w)] * vectors
                for v in range(vectors):
                    _add_product(builder, sums[i * vectors + v], ws[v], xs[v])
        factors = _everywhere(builder, factor)
        for i in rows:
            for v, lane in enumerate(lanes):
                place = builder.add(builder.mul(INDEX(i), out_step), lane)
                result = builder.fmul(builder.load(sums[i * vectors + v], typ=VECTOR), factors)
                builder.store(result, _pointer(builder, out, place), align=8)

    _each_shape(builder, (height, vectors), (LEFT_IN_LANES, 1, ROWS), range(1, VECTORS + 1), tile)


@_instruction(types.void, *[WHOLE] * 8, types.float64, WHOLE, WHOLE)
def _mean_tile(
    builder: Any, height: Any, breadth: Any, terms: Any, left: Any, left_slots: Any, right: Any,
    right_slots: Any, lanes: Any, factor: Any, out: Any, out_step: Any
) -> None:  # fmt: skip
    """Computes a few rows of numbers: factor * sum over k and all lanes of left[i, k] right[j, k].

    Like `_matrix_tile`, but `height` and `breadth` are each 1 or ROWS; `lanes` is at least WIDTH.
    """

    def tile(builder: Any, height: int, breadth: int) -> None:
        rows, columns = range(height), range(breadth)
        sums = _zeros(builder, height * breadth)
        rest = builder.and_(lanes, INDEX(WIDTH - 1))
        full = builder.sub(lanes, rest)
        places = ir.Constant(ir.VectorType(INDEX, WIDTH), list(range(WIDTH)))
        seen = builder.sub(INDEX(WIDTH), rest)  # the last vector repeats this many numbers
        new = builder.icmp_signed(">=", places, _everywhere(builder, seen, places.type))
        zero = ir.Constant(VECTOR, None)

        def add_products(lane: Any, xs: Any, ys: Any, mask: Any = None) -> None:
            vectors = [_vector(builder, x, lane) for x in xs + ys]
            if mask is not None:
                vectors = [builder.select(mask, x, zero) for x in vectors]
            for i in rows:
                for j in columns:
                    total = sums[i * breadth + j]
                    _add_product(builder, total, vectors[i], vectors[height + j])

        def row(address: Any, slots: Any, i: int, k: Any) -> Any:
            slot = _integer(builder, slots, builder.add(builder.mul(INDEX(i), terms), k))
            return builder.add(address, builder.mul(builder.mul(slot, lanes), INDEX(8)))

        with cgutils.for_range(builder, terms) as loop:
            xs = [row(left, left_slots, i, loop.index) for i in rows]
            ys = [row(right, right_slots, j, loop.index) for j in columns]
            with cgutils.for_range_slice(builder, INDEX(0), full, INDEX(WIDTH), INDEX) as (lane, _):
                add_products(lane, xs, ys)
            with builder.if_then(builder.icmp_signed("!=", rest, INDEX(0))):
                add_products(builder.sub(lanes, INDEX(WIDTH)), xs, ys, new)
        totals = [builder.load(total, typ=VECTOR) for total in sums]
        totals += [zero] * (-len(totals) % WIDTH)
        part = min(WIDTH, breadth)
        for first in range(0, height * breadth, WIDTH):
            vector = _across(builder, totals[first : first + WIDTH])
            vector = builder.fmul(vector, _everywhere(builder, factor))
            for at in range(0, min(WIDTH, height * breadth), part):
                i, j = divmod(first + at, breadth)
                place = builder.add(builder.mul(INDEX(i), out_step), INDEX(j))
                result = _places(builder, vector, vector, range(at, at + part))
                builder.store(result, _pointer(builder, out, place), align=8)

    _each_shape(builder, (height, breadth), (1, ROWS), (1, ROWS), tile)


def _places(builder: Any, x: Any, y: Any, places: Sequence[int]) -> Any:
    # The vector of the numbers at these positions in the concatenation of x and y.
    kind = ir.VectorType(ir.IntType(32), len(places))
    return builder.shuffle_vector(x, y, ir.Constant(kind, list(places)))


def _across(builder: Any, vectors: list[Any]) -> Any:
    # A vector with the sum of each of WIDTH vectors: adjacent numbers are added repeatedly.
    while len(vectors) > 1:
        vectors = [
            builder.fadd(
                _places(builder, x, y, range(0, 2 * WIDTH, 2)),
                _places(builder, x, y, range(1, 2 * WIDTH, 2)),
            )
            for x, y in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


# ---- 4. Groups

CHUNK = 1024  # how many numbers of an operand are gathered at a time
# Offsets within the header of a group, which ends with four operands, and within an operand.
OP, WIDE, LANES, RESULT, COUNT, ROW_COUNT, COLUMN_COUNT, TERMS, SIGN, OPERANDS = range(10)
IN_LANES, SLOTS, EACH, REGULAR, OPERAND = range(5)
HEAD = OPERANDS + 4 * OPERAND


@_compiled
def _located(program: int, operand: int, width: int, u: int, s: int) -> tuple[int, int, int]:
    """The address of an operand's slot 0, and the steps to its next slot and its next lane."""
    if _entry(program, operand + IN_LANES):
        return s, width, 1
    return u, 1, 0


@_compiled
def _gathered(
    program: int, operand: int, first: int, n: int, width: int, u: int, s: int, scratch: int
) -> Any:
    """The address of n adjacent rows: their own, or that of a copy that repeats uniform numbers."""
    source, step, move = _located(program, operand, width, u, s)
    place = _entry(program, operand + SLOTS) + first
    if _entry(program, operand + REGULAR):
        return source + 8 * step * _entry(program, place)
    if width == 1:
        for i in range(n):
            _put(scratch, i, _get(source, _entry(program, place + i)))
        return scratch
    for i in range(n):
        x, row = source + 8 * step * _entry(program, place + i), scratch + 8 * i * width
        if move:
            for lane in range(width):
                _put(row, lane, _get(x, lane))
        else:
            number = _get(x, 0)
            for lane in range(width):
                _put(row, lane, number)
    return scratch


@_compiled
def _matrix_product(
    program: int, left_in_lanes: bool, rows: int, n: int, terms: int, left: int, left_slots: int,
    right: int, right_slots: int, step: int, factor: float, out: int, out_step: int,
) -> None:  # fmt: skip
    """Computes, in tiles, a matrix product whose rows have n >= WIDTH numbers."""
    vectors = (n + WIDTH - 1) // WIDTH
    tiles = (vectors + VECTORS - 1) // VECTORS
    start = 0
    for tile in range(tiles):
        size = (vectors - start // WIDTH + tiles - tile - 1) // (tiles - tile)
        last = min((size - 1) * WIDTH, n - WIDTH - start)
        height = LEFT_IN_LANES if left_in_lanes else (ROWS if rows >= ROWS else 1)
        row = 0
        while row < rows:
            row = min(row, rows - max(height, 1))
            offset = 8 * start
            _matrix_tile(
                height, size, terms, left + (offset if left_in_lanes else 0),
                program + 4 * (left_slots + row * terms), right + offset, program + 4 * right_slots,
                step, last, factor, out + offset + 8 * row * out_step, out_step,
            )  # fmt: skip
            row += max(height, 1)
        start += size * WIDTH


@_compiled
def _mean_product(
    program: int, rows: int, columns: int, terms: int, left: int, left_slots: int, right: int,
    right_slots: int, lanes: int, factor: float, out: int, out_step: int,
) -> None:  # fmt: skip
    """Computes a matrix of means over lanes, in tiles."""
    height = ROWS if rows >= ROWS else 1
    breadth = ROWS if columns >= ROWS else 1
    row = 0
    while row < rows:
        row = min(row, rows - height)
        column = 0
        while column < columns:
            column = min(column, columns - breadth)
            _mean_tile(
                height, breadth, terms, left, program + 4 * (left_slots + row * terms), right,
                program + 4 * (right_slots + column * terms), lanes, factor,
                out + 8 * (row * out_step + column), out_step,
            )  # fmt: skip
            column += breadth
        row += height


@_compiled
def _plain_products(
    program: int, at: int, width: int, u: int, s: int, factor: float, out: int
) -> None:
    """Computes the matrices of a group that does not fit into tiles, one sum at a time."""
    x, y = at + OPERANDS, at + OPERANDS + OPERAND
    rows, columns = _entry(program, at + ROW_COUNT), _entry(program, at + COLUMN_COUNT)
    terms = _entry(program, at + TERMS)
    left, left_step, left_move = _located(program, x, width, u, s)
    right, right_step, right_move = _located(program, y, width, u, s)
    together = _entry(program, at + LANES) == 0
    lefts, rights = _entry(program, x + SLOTS), _entry(program, y + SLOTS)
    for _ in range(_entry(program, at + COUNT)):
        for row in range(rows):
            b = rights + row * terms
            for column in range(columns):
                a = lefts + column * terms
                total = 0.0
                for lane in range(width):
                    for k in range(terms):
                        w = _get(left, _entry(program, a + k) * left_step + lane * left_move)
                        z = _get(right, _entry(program, b + k) * right_step + lane * right_move)
                        total += w * z
                    if not together:
                        _put(out, lane, factor * total)
                        total = 0.0
                if together:
                    _put(out, 0, factor * total)
                out += 8 if together else 8 * width
        lefts += columns * terms
        rights += rows * terms


@_compiled
def _add_terms(
    program: int, operand: int, n: int, width: int, u: int, s: int, sign: float, out: int
) -> None:
    """Adds the terms of an operand to each of n results, or subtracts them."""
    source, step, move = _located(program, operand, width, u, s)
    each = _entry(program, operand + EACH)
    for i in range(n):
        row, first = out + 8 * i * width, _entry(program, operand + SLOTS) + i * each
        if width == 1:
            total = 0.0
            for k in range(first, first + each):
                total += _get(source, _entry(program, k))
            _put(row, 0, _get(row, 0) + sign * total)
            continue
        for k in range(first, first + each):
            x = source + 8 * step * _entry(program, k)
            if move:
                for lane in range(width):
                    _put(row, lane, _get(row, lane) + sign * _get(x, lane))
            else:
                number = sign * _get(x, 0)
                for lane in range(width):
                    _put(row, lane, _get(row, lane) + number)


@_compiled
def _dot(program: int, at: int, width: int, u: int, s: int, out: int, scratch: int) -> None:
    """Computes a group of dots (sums of products), or of means of products."""
    count, rows = _entry(program, at + COUNT), _entry(program, at + ROW_COUNT)
    columns, terms = _entry(program, at + COLUMN_COUNT), _entry(program, at + TERMS)
    x, y = at + OPERANDS, at + OPERANDS + OPERAND
    left, _, left_move = _located(program, x, width, u, s)
    right, _, right_move = _located(program, y, width, u, s)
    together = width > 1 and not _entry(program, at + LANES)
    factor = _entry(program, at + SIGN) / (width if together else 1)
    out_width = 1 if together else width
    has_tiles = left_move & right_move if together else left_move | right_move
    if width == 1:
        has_tiles = columns >= WIDTH
    elif width < WIDTH:
        has_tiles = 0
    if not has_tiles:
        _plain_products(program, at, width, u, s, factor, out)
    for i in range(count if has_tiles else 0):
        here = out + 8 * i * rows * columns * out_width
        a = _entry(program, x + SLOTS) + i * columns * terms
        b = _entry(program, y + SLOTS) + i * rows * terms
        if width == 1:
            source, source_slots, step = left, a, 1
            if not _entry(program, x + REGULAR):
                source, source_slots, step = scratch, _entry(program, 0), columns
                for column in range(columns):
                    for k in range(terms):
                        number = _get(left, _entry(program, a + column * terms + k))
                        _put(scratch, k * columns + column, number)
            _matrix_product(
                program, False, rows, columns, terms, right, b, source, source_slots, step,
                factor, here, columns,
            )  # fmt: skip
        elif together:
            _mean_product(
                program, rows, columns, terms, right, b, left, a, width, factor, here, columns
            )
        elif right_move:
            for row in range(rows):
                _matrix_product(
                    program, left_move == 1, columns, width, terms, left, a, right, b + row * terms,
                    width, factor, here + 8 * row * columns * width, width,
                )  # fmt: skip
        else:
            for column in range(columns):
                _matrix_product(
                    program, False, rows, width, terms, right, b, left, a + column * terms,
                    width, factor, here + 8 * column * width, columns * width,
                )  # fmt: skip
    n = count * rows * columns
    for operand, sign in ((y + OPERAND, 1.0), (y + 2 * OPERAND, -1.0)):
        if _entry(program, operand + EACH):
            _add_terms(program, operand, n, out_width, u, s, sign, out)


@_compiled
def _extremes(program: int, at: int, width: int, u: int, s: int, out: int) -> None:
    """Computes the largest or the smallest number of each list."""
    x = at + OPERANDS
    each, largest = _entry(program, x + EACH), _entry(program, at + OP) == LARGEST
    source, step, _ = _located(program, x, width, u, s)
    for i in range(_entry(program, at + COUNT)):
        first, row = _entry(program, x + SLOTS) + i * each, out + 8 * i * width
        for k in range(first, first + each):
            numbers = source + 8 * step * _entry(program, k)
            found = numbers if k == first else row
            for lane in range(width):
                a, b = _get(found, lane), _get(numbers, lane)
                _put(row, lane, _larger(a, b) if largest else _smaller(a, b))


@_compiled
def _take(program: int, at: int, width: int, u: int, s: int, out: int) -> bool:
    """Looks up entries of tables; returns False if an index is out of range or not whole."""
    x, y = at + OPERANDS, at + OPERANDS + OPERAND
    index, index_step, index_move = _located(program, x, width, u, s)
    table, step, move = _located(program, y, width, u, s)
    for i in range(_entry(program, at + COUNT)):
        index_slot = _entry(program, _entry(program, x + SLOTS) + i)
        first = i * _entry(program, y + EACH)
        for lane in range(width):
            place = _get(index, index_slot * index_step + lane * index_move)
            if not 0.0 <= place < _entry(program, y + EACH) or place != int(place):
                return False
            slot = _entry(program, _entry(program, y + SLOTS) + first + int(place))
            _put(out, i * width + lane, _get(table, slot * step + lane * move))
    return True


@_compiled
def _scatter(program: int, at: int, width: int, u: int, s: int, out: int) -> bool:
    """Adds numbers to entries of tables; returns False if an index is out of range or not whole."""
    x, y = at + OPERANDS, at + OPERANDS + OPERAND
    index, index_step, index_move = _located(program, x, width, u, s)
    source, step, move = _located(program, y, width, u, s)
    each, n = _entry(program, x + EACH), _entry(program, at + ROW_COUNT)
    out_width, out_move = (width, 1) if _entry(program, at + LANES) else (1, 0)
    factor = 1.0 if _entry(program, at + LANES) else 1.0 / width
    for i in range(_entry(program, at + COUNT) * n * out_width):
        _put(out, i, 0.0)
    for i in range(_entry(program, at + COUNT) * each):
        row = out + 8 * (i // each) * n * out_width
        index_slot = _entry(program, _entry(program, x + SLOTS) + i)
        slot = _entry(program, _entry(program, y + SLOTS) + i)
        for lane in range(width):
            place = _get(index, index_slot * index_step + lane * index_move)
            if not 0.0 <= place < n or place != int(place):
                return False
            cell = int(place) * out_width + lane * out_move
            number = factor * _get(source, slot * step + lane * move)
            _put(row, cell, _get(row, cell) + number)
    return True


@_compiled
def _apply(program: int, at: int, width: int, u: int, s: int, out: int, scratch: int) -> None:
    """Computes a group of elementwise operations."""
    count, op = _entry(program, at + COUNT), _entry(program, at + OP)
    x = at + OPERANDS
    y, a, b = x + OPERAND, x + 2 * OPERAND, x + 3 * OPERAND
    in_place = _entry(program, x + REGULAR) & _entry(program, y + REGULAR)
    in_place &= _entry(program, a + REGULAR) & _entry(program, b + REGULAR)
    size = count if in_place or count * width <= CHUNK else max(1, CHUNK // width)
    part = 8 * max(CHUNK, width)
    first = 0
    while first < count:
        n = min(size, count - first)
        _elementwise(
            op, n * width, out + 8 * first * width,
            _gathered(program, x, first, n, width, u, s, scratch),
            _gathered(program, y, first, n, width, u, s, scratch + part),
            _gathered(program, a, first, n, width, u, s, scratch + 2 * part),
            _gathered(program, b, first, n, width, u, s, scratch + 3 * part),
        )  # fmt: skip
        first += n


@_compiled
def _groups(program: int, u: int, s: int, scratch: int, lanes: int, first: int, last: int) -> int:
    """Runs groups of a program; returns 0, or 1 + the position of a group with an invalid index.

    The kernel is fastest if U and S begin at a multiple of 64 bytes and the number of lanes is a
    multiple of 8: then no vector is loaded from two cache lines.
    """
    for group in range(first, last):
        at = 2 + group * HEAD
        op = _entry(program, at + OP)
        width = lanes if _entry(program, at + WIDE) else 1
        out = u + 8 * _entry(program, at + RESULT)
        if _entry(program, at + LANES):
            out = s + 8 * _entry(program, at + RESULT) * lanes
        found = True
        if op in (DOT, MEAN):
            _dot(program, at, width, u, s, out, scratch)
        elif op < DOT:
            _apply(program, at, width, u, s, out, scratch)
        elif op in (LARGEST, SMALLEST):
            _extremes(program, at, width, u, s, out)
        elif op == TAKE:
            found = _take(program, at, width, u, s, out)
        else:
            found = _scatter(program, at, width, u, s, out)
        if not found:
            return group + 1
    return 0


# ---- 5. Jobs: what one call of the kernel does

JOB = 8  # integers: the kind of a job, and its arguments
COPY, LOAD, GROUPS, CHECK = range(4)
STEPS, DONE, ENDS, JOBS = 0, 1, 2, 5  # offsets in a table of jobs
NOT_FINITE = -1
EXAMPLES = 8  # how many examples are transposed at a time: a cache line of numbers


@_compiled
def _copy(out: int, source: int, n: int) -> None:
    for i in range(n):
        _put(out, i, _get(source, i))


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
                _put(out, column * n + lane, _word(source, at) if whole else _get(source, at))
        start = stop


@_compiled
def _job(job: int, step: int) -> int:
    """Does one job; returns 0, or what is wrong."""
    kind, a, b, c = _word(job, 0), _word(job, 1), _word(job, 2), _word(job, 3)
    d, e, f, g = _word(job, 4), _word(job, 5), _word(job, 6), _word(job, 7)
    if kind == COPY:
        _copy(a + step * d, b + step * e, c)
    elif kind == LOAD:
        _load(a, b, c, d, e, step * f, g)
    elif kind == GROUPS:
        return _groups(a, b, c, d, e, f, g)
    elif not abs(_get(a, 0)) < np.inf:
        return NOT_FINITE
    return 0


def _run(table: int) -> int:
    """Does the jobs of a table (see `jobs`); returns 0, or what is wrong, which ends the steps.

    The caller provides all memory, because an array created here would be freed after the last use
    of its name, while its address is still in use.
    """
    first = wrong = 0
    _set_word(table, DONE, 0)
    for part in range(3):
        last = _word(table, ENDS + part)
        step, steps = 0, _word(table, STEPS) if part == 1 else 1
        while step < steps:
            for i in range(first, last):
                found = _job(table + 8 * (JOBS + i * JOB), step)
                if found:
                    wrong = found
                    break
            if wrong:
                break
            step += 1
        if part == 1:
            _set_word(table, DONE, step)
        first = last
    return wrong


SIGNATURE = "intp(intp)"
not_cached = ""  # why the kernel cannot be cached on disk; empty if it can
try:
    run = numba.njit(SIGNATURE, cache=True, **OPTIONS)(_run)
except (RuntimeError, OSError) as error:  # no folder to write to, or no space in it
    not_cached = str(error)
    run = numba.njit(**OPTIONS)(_run)  # compiled at the first call


def jobs(
    before: Sequence[Sequence[int]],
    each: Sequence[Sequence[int]] = (),
    after: Sequence[Sequence[int]] = (),
    steps: int = 1,
) -> Any:
    """A table of jobs: some are done once before the steps, some in each step, some once after.

        COPY    out, source, n, and how far `out` and `source` move in each step, in bytes
        LOAD    out, source, examples, numbers of an example, order, how far the first example
                moves in each step, whether the numbers are integers
        GROUPS  program, U, S, scratch, lanes, first group, end
        CHECK   a number, which must be finite

    All are addresses or integers, so the caller keeps what they point to. Numbers have 8 bytes.
    """
    parts = [list(before), list(each), list(after)]
    ends = np.cumsum([len(part) for part in parts])
    rows = [(*job, *[0] * (JOB - len(job))) for part in parts for job in part]
    return np.array([steps, 0, *ends, *(number for row in rows for number in row)], np.int64)


# ---- 6. From groups to integers


def encode(groups: Sequence[Group], uniforms: int, rows: int) -> Any:
    """The program that runs these groups, as an array of integers.

    Args:
        groups: the groups, in the order in which they run.
        uniforms: the number of slots in U.
        rows: the number of slots in S.

    Raises:
        ValueError: a slot is out of range, results are not in neighbouring slots, or the kernel
            does not have the operation.
    """
    start = 2 + len(groups) * HEAD
    factors = [block for g in groups if g.op in PRODUCTS for block in g.operands[:2]]
    longest = max((block.slots.shape[-1] for block in factors), default=0)
    heads: list[Any] = []
    tables: list[Any] = [np.arange(longest)]  # slots of the numbers that `_dot` gathers
    scratch = 0
    place = start + longest
    for group in groups:
        _check(group, uniforms, rows)
        result, operands, shape = group.result, list(group.operands), (0, 0, 0)
        wide = result.lanes or any(x.lanes for x in operands)
        count = results = result.slots.size
        if group.op in PRODUCTS:
            operands[:2] = left, right = _matrices(group)
            count, shape = len(left.slots), (right.slots.shape[1], *left.slots.shape[1:])
            scratch = max(scratch, left.slots[0].size)
        elif group.op.startswith("scatter"):
            count = results = len(result.slots)
            shape = result.slots.shape[1], 0, 0
        head = [OPS.index(group.op), wide, result.lanes, result.slots.flat[0], count, *shape]
        head.append(group.sign)
        operands += [Block(wide, np.zeros(0, int))] * (4 - len(operands))
        for x in operands:
            slots = x.slots.swapaxes(1, 2) if group.op in PRODUCTS and x.slots.ndim > 2 else x.slots
            regular = (np.diff(slots) == 1).all() and (group.op in PRODUCTS or x.lanes == wide)
            head += [x.lanes, place, x.slots.size // results, regular]
            tables.append(x.slots.ravel())
            place += x.slots.size
        heads.append(head)
    whole: list[Any] = [[start, scratch], *heads, *tables, [0]]
    return np.concatenate(whole).astype(np.int32)


def scratch_size(program: Any, lanes: int) -> int:
    """The size, in numbers, of the scratch memory that a program needs for `lanes` lanes."""
    return max(int(program[1]), 4 * max(CHUNK, lanes))  # a chunk for each of four operands


def _matrices(group: Group) -> tuple[Block, Block]:
    # The left and right factors of products; slots (count, columns, terms), (count, rows, terms).
    x, y = group.operands[:2]
    left, right = _stacked(group.result.slots.shape, x.slots, y.slots)
    matrices = Block(x.lanes, left), Block(y.lanes, right)
    # A single column is transposed, because vectors run along rows.
    return matrices if left.shape[1] > 1 else matrices[::-1]


def _stacked(shape: tuple[int, ...], left: Any, right: Any) -> tuple[Any, Any]:
    shape = (1,) * (2 - len(shape)) + shape
    left, right = (x.reshape((1,) * (len(shape) + 1 - x.ndim) + x.shape) for x in (left, right))
    terms = max(left.shape[-1], right.shape[-1]) if min(left.shape[-1], right.shape[-1]) else 0
    *count, rows, columns = shape
    if (rows == 1 or left.shape[-3] == 1) and (columns == 1 or right.shape[-2] == 1):
        left = np.broadcast_to(left[..., :1, :, :], (*count, 1, columns, terms))
        right = np.broadcast_to(right[..., :, :1, :], (*count, rows, 1, terms))
        n = math.prod(count)
        return left.reshape(n, columns, terms), right.reshape(n, rows, terms)
    left, right = (np.broadcast_to(x, (*shape, terms)) for x in (left, right))
    n = math.prod(shape)
    return left.reshape(n, 1, terms), right.reshape(n, 1, terms)


def _check(group: Group, uniforms: int, rows: int) -> None:
    if group.op not in OPS:
        raise ValueError(f"the kernel has no operation {group.op!r}: it knows {', '.join(OPS)}")
    for block in (group.result, *group.operands):
        slots, size = block.slots, rows if block.lanes else uniforms
        if slots.size and not 0 <= slots.min() <= slots.max() < size:
            raise ValueError(
                f"{group.op!r} expects slots from 0 to {size - 1}, got {slots.min()} to "
                f"{slots.max()}: pass the sizes of the schedule"
            )
    if (np.diff(group.result.slots.ravel()) != 1).any():
        raise ValueError(
            f"{group.op!r} expects results in neighbouring slots, got {group.result.slots.ravel()}:"
            " lay out the slots group by group"
        )
