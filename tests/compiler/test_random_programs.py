"""Random programs of all operations: eager mode against PyTorch, each executor against eager mode.

A program grows by random steps and is evaluated meanwhile. A step is skipped if eager mode refuses
to compute or differentiate it, if its result is outside of -100 to 100, or if rounding would decide
the result: the maximum of two nearly equal sums, or a division by nearly zero. Ties and zeros of
round numbers are allowed, because they are exact. A fifth of the programs repeat their examples in
a batch of up to 5,000 lanes. As a command, this file compares more programs than the tests do:

    PYTHONPATH=tests python tests/compiler/test_random_programs.py --programs 10000 --jax 300
"""

import math

import pytest
from compiled import ALL_EXECUTORS, computed_by_matrices, computed_by_source
from random_programs import OPERATIONS, TOLERANCE, Program, compare, error

from micrograd import fit
from micrograd.optim import SGD, Adam

OPTIMIZERS = [  # an eps of lr, because Adam would enlarge the rounding error of a gradient of 0
    lambda parameters: SGD(parameters, lr=0.01, momentum=0.9),
    lambda parameters: Adam(parameters, lr=0.01, eps=0.01),
]


def assert_close(found, expected, scale, program):
    off = error(found, expected, scale)
    assert off <= TOLERANCE, f"off by {off} of the scale {scale}:\n{program}"


def errors(program, executor, with_single=True, with_training=False):
    """Pairs: what this executor computes in another way than eager mode, and the error."""
    if not program.steps:
        return
    compiled = program.compiled(executor)
    results = compiled(*program.batch)
    single = compiled(*[a[-1:] for a in program.batch]) if with_single else None
    for k in range(program.n_results):
        if (expected := program.eager(k)) is None:
            continue
        lanes, slopes, scale = expected
        result = results[k] if program.n_results > 1 else results
        program.set_parameters([p.data for p in program.parameters])
        result.backward()
        yield "result", error(result.lanes, lanes, scale)
        yield "mean", error(result.data, math.fsum(lanes) / len(lanes), scale)
        yield "gradient", error([p.grad for p in program.parameters], slopes, scale)
        if with_single:
            one = single[k] if program.n_results > 1 else single
            yield "single result", error(one.lanes, lanes[-1:], scale)
        if program.n_results == 1 and executor == "numpy":
            for computed in computed_by_source, computed_by_matrices:
                mean, found = computed(compiled, program.parameters, *program.batch)
                yield "mean", error(mean, math.fsum(lanes) / len(lanes), scale)
                yield "gradient", error([found[p] for p in program.parameters], slopes, scale)
    if with_training and program.n_results == 1 and compiled.parameters:
        for make, in_one_call in zip(OPTIMIZERS, (False, True), strict=True):
            means, parameters, scale = program.trained(make, 3)
            if not means:
                continue
            before = [p.data for p in program.parameters]
            optimizer = make(program.parameters)
            if in_one_call:
                found = fit(compiled, *program.batch, optimizer, steps=len(means))
            else:
                found = [compiled.step(optimizer, *program.batch) for _ in means]
            after = [p.data for p in program.parameters]
            program.set_parameters(before)
            yield "mean in training", error(found, means, scale)
            yield "trained parameters", error(after, parameters, scale)


def test_random_graphs_have_the_gradients_of_pytorch(effort, record_property):
    torch = pytest.importorskip("torch")
    compared, operations = 0, set()
    for seed in range(50 * effort):
        program = Program(seed)
        if not program.steps or (expected := program.eager(0)) is None:
            continue
        parameters = torch.tensor([p.data for p in program.parameters], dtype=torch.float64)
        parameters.requires_grad_()
        inputs = torch.tensor(program.inputs, dtype=torch.float64)
        results = torch.stack([
            program.results([i, *parameters.unbind(), *xs.unbind()], in_pytorch=True)[0]
            for i, xs in zip(program.indices, inputs, strict=True)
        ])[program.order]  # fmt: skip
        gradients = torch.zeros_like(parameters)
        if results.requires_grad:
            [gradients] = torch.autograd.grad(results.mean(), [parameters], materialize_grads=True)
        lanes, slopes, scale = expected
        assert_close(results.tolist(), lanes, scale, program)
        assert_close(gradients.tolist(), slopes, scale, program)
        compared += 1
        operations.update(operation.name for operation, _ in program.steps)
    record_property("count", f"{compared:,} of {seed + 1:,} random graphs compared")
    assert compared > 0.8 * seed
    assert effort == 1 or operations == {operation.name for operation in OPERATIONS}


@ALL_EXECUTORS
def test_compiled_random_programs_agree_with_eager_mode(executor, effort, record_property):
    """So do both of their sources, run as Python."""
    compared, operations = 0, set()
    for seed in range({"numpy": 20 * effort, "llvm": 6 * effort, "jax": 5}[executor]):
        program = Program(seed)
        for what, off in errors(program, executor, with_training=seed % 7 == 0):
            assert off <= TOLERANCE, f"a {what} is off by {off} of the scale:\n{program}"
            compared += what == "result"
        operations.update(operation.name for operation, _ in program.steps)
    record_property("count", f"{compared:,} results of {seed + 1:,} random programs compared")
    assert compared > 0.8 * seed
    if executor != "jax" and effort > 1:
        assert operations == {operation.name for operation in OPERATIONS}


if __name__ == "__main__":
    compare(Program, lambda program, name, i: errors(program, name, i % 7 == 0, i % 7 == 0))
