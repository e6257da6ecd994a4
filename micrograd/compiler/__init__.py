"""The compiler, which turns a scalar function into an array program.

    >>> import micrograd
    >>> w = micrograd.Value(2.0, label="w")
    >>> loss = micrograd.compile(lambda x, y: (w * x - y) ** 2)
    >>> batch = loss([1.0, 2.0], [3.0, 3.0])  # two examples, or a thousand
    >>> batch.backward()
    >>> batch.data, w.grad
    (1.0, 1.0)

A lane is one example of the batch. A place is an index into the list of instructions; a slot is an
index into memory. The passes, in the order in which they run:

    record        calls the function with traced numbers, which record every operation on them
    simplify      removes duplicates and no-ops while the instructions are recorded, and notes which
                  of them run in every lane and which run once
    averages      takes means over lanes, and finds what is needed
    fuse          turns sums of products, and other chains, into single instructions
    schedule      groups instructions that do the same thing at the same time; finds matrix products
    run_numpy, run_llvm, run_jax        three ways to run the same program on a batch
    llvm_text     arithmetic that writes LLVM's language
    llvm_code     a schedule as a text in this language, of which run_llvm makes machine code

Modules around the passes:

    dependencies  what a function can read from its surroundings
    guard         checks whether any of that has changed since the function was compiled
    parameters    storage shared by parameters, while `p.data` and `p.grad` work as before
    program       the result of all passes, for examples of one shape
    text          a program as Python text
    picture       a program as a drawing
    batch         what a compiled function returns
    update        an optimizer's rule as groups; training steps in one call of the executor
    function      `micrograd.compile`
    training      `micrograd.fit`

No pass contains a derivative rule: `tracing.py` records the backward pass in the same way as the
forward pass.
"""
