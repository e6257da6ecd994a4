"""The compiler, which turns a scalar function into an array program.

    >>> import micrograd
    >>> w = micrograd.Value(2.0, label="w")
    >>> loss = micrograd.compile(lambda x, y: (w * x - y) ** 2)
    >>> batch = loss([1.0, 2.0], [3.0, 3.0])  # two examples, or a thousand
    >>> batch.backward()
    >>> batch.data, w.grad
    (1.0, 1.0)

Max Bernstein found dot products in the graphs of micrograd ("Vectorizing ML models for fun") and
ended with two questions: could the dot products become matrix products, and could the code of
`_backward` be derived, too? The passes here answer both. The function runs once, forward and
backward, on traced numbers, which record what is done to them (`core/tracing.py`). In the
recording, sums of products with a list of factors in common are the rows of one matrix product: a
layer, and also its backward pass. The passes know neither layers nor derivatives.
`demos/from_scalars_to_arrays.py` shows them one by one.

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
    text, picture                       a program as Python, and as a drawing
    batch         what a compiled function returns
    update        an optimizer's rule as groups; training steps in one call of the executor
    function, training                  `micrograd.compile` and `micrograd.fit`

No pass contains a derivative rule: `tracing.py` records the backward pass in the same way as the
forward pass.
"""
