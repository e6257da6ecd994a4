"""Chapter 13: the compiler, which makes array programs of scalar ones.

    >>> import micrograd
    >>> w = micrograd.Value(2.0, label="w")
    >>> loss = micrograd.compile(lambda x, y: (w * x - y) ** 2)
    >>> batch = loss([1.0, 2.0], [3.0, 3.0])  # two examples, or a thousand
    >>> batch.backward()
    >>> batch.data, w.grad
    (1.0, 1.0)

One example of the batch is a lane. A place is a position in the list of instructions, a slot one in
memory. The files are the passes, in the order in which they run:

    record      calls the function with numbers that write down what is done to them
    simplify    the list in which they write: nothing twice, and nothing that changes nothing
    lanes       what is computed in every lane, what once, and what not at all
    dots        sums of products and other chains as one instruction
    schedule    what does the same at the same time, side by side; matrix products are found here
    run         a batch goes through a program, tile by tile
    run_python, run_numpy, run_numba      the same program in three ways
    kernel      what the third of them runs: one interpreter, in machine code, of all programs

and around them

    parameters  parameters that live in one array, while `p.data` stays true
    program     the passes in their order
    picture     a program as a drawing
    function    `micrograd.compile`, and the batch that it returns

No pass knows a derivative: forward and backward are recorded alike, by chapter 8.
"""
