"""The compiler, which turns a scalar function into an array program.

    >>> import micrograd
    >>> w = micrograd.Value(2.0, label="w")
    >>> loss = micrograd.compile(lambda x, y: (w * x - y) ** 2)
    >>> batch = loss([1.0, 2.0], [3.0, 3.0])  # two examples, or a thousand
    >>> batch.backward()
    >>> batch.data, w.grad
    (1.0, 1.0)

The idea fits on two pages. Max Bernstein found dot products in the graphs of micrograd
("Vectorizing ML models for fun") and ended with two questions: could the dot products become matrix
products, and could the code of `_backward` be derived, too? The two functions in this file answer
both. First, a layer runs once, forward and backward, on traced numbers, which record what is done
to them (`core/tracing.py`). The recording knows no numbers, only what is computed from what:

    >>> from micrograd.core.tracing import Recording
    >>> from micrograd.nn import Layer
    >>> recording, layer = Recording(), Layer(2, 3)
    >>> xs = [micrograd.Value(recording.input(0.0)) for _ in range(2)]  # instructions 0 and 1
    >>> for p in layer.parameters():  # instructions 2 to 10: w, w, b of each of three neurons
    ...     p.data = recording.input(0.0)
    >>> loss = sum(neuron.tanh() for neuron in layer(xs))
    >>> loss.backward()

Then sums are flattened, and sums of products that have a list of factors in common are the rows of
one matrix product. One is the layer: its biases (times 1) and weights, times its inputs. The other
one is its backward pass: the transposed weights, times the gradients of the three neurons. The
functions know neither layers nor derivatives:

    >>> for matrix, vector in matrix_products(sums_of_products(recording.instructions)):
    ...     print(matrix, "@", vector)
    [(8, 5, 2), (9, 6, 3)] @ (39, 52, 67)
    [(10, 8, 9), (7, 5, 6), (4, 2, 3)] @ (None, 0, 1)

The passes of this package do the same for any program, fast, and in all lanes at once.

A lane is one example of the batch. A place is an index into the list of instructions; a slot is an
index into memory. The passes, in the order in which they run:

    record        calls the function with traced numbers, which record every operation on them
    simplify      removes duplicates and no-ops while the instructions are recorded, notes which of
                  them run in every lane and which run once, and takes means over lanes
    fuse          turns sums of products, and other chains, into single instructions
    schedule      groups instructions that do the same thing at the same time; finds matrix products
    run_numpy, run_llvm, run_jax        three ways to run the same program on a batch; llvm_text is
                  arithmetic that writes LLVM's language, llvm_code a schedule in this language

Modules around the passes:

    guard         what a function reads from outside, and whether any of it has changed
    parameters    storage shared by parameters, while `p.data` and `p.grad` work as before
    program       the result of all passes, for examples of one shape
    text, picture, profile              a program as Python, as a drawing, and where its time goes
    batch         what a compiled function returns
    update        an optimizer's rule as groups; training steps in one call of the executor
    function, training                  `micrograd.compile` and `micrograd.fit`

No pass contains a derivative rule: `tracing.py` records the backward pass in the same way as the
forward pass.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from micrograd.core.tracing import Instruction

Factors = tuple[int | None, ...]  # places of instructions; None is the number 1


def sums_of_products(steps: Sequence[Instruction]) -> dict[int, tuple[Factors, Factors]]:
    """The left and the right factors of every sum, by the place of the sum.

    Additions whose only use is another addition belong to the same sum. A term that is not a
    product, or is used elsewhere as well, is multiplied by 1.
    """
    uses = Counter(place for step in steps for place in step.operands)
    found: dict[int, tuple[Factors, Factors]] = {}
    inside: set[int] = set()  # additions that belong to a sum
    for place in reversed(range(len(steps))):
        if steps[place].op != "+" or place in inside:
            continue
        products: list[tuple[int | None, ...]] = []
        waiting = [place]
        while waiting:
            term = waiting.pop()
            op, operands, _ = steps[term]
            if op == "+" and (term == place or uses[term] == 1):
                inside.add(term)
                waiting += reversed(operands)
            else:
                products.append(operands if op == "*" and uses[term] == 1 else (term, None))
        lefts, rights = zip(*products, strict=True)
        found[place] = lefts, rights
    return found


def matrix_products(
    sums: Mapping[int, tuple[Factors, Factors]],
) -> list[tuple[list[Factors], Factors]]:
    """The matrices, as lists of rows, and the vectors that they are multiplied by."""
    matrices: dict[Factors, list[Factors]] = defaultdict(list)
    for row, vector in sums.values():
        matrices[vector].append(row)
    return [(rows, vector) for vector, rows in matrices.items() if len(rows) > 1]
