"""The executor on JAX, against the one on NumPy, on one device and on eight."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compiled import attention, mlp, rows

from micrograd import Value, compile
from micrograd.compiler import function as function_module
from micrograd.losses import hinge

jax = pytest.importorskip("jax", reason="pip install jax")
run_jax = pytest.importorskip("micrograd.compiler.run_jax")


# ---- programs


def penalised(sizes, activation):
    model = mlp(*sizes, activation=activation)

    def loss(x, y):
        return hinge(model(x), y) + 1e-3 * sum(p * p for p in model.parameters())

    return loss, model.parameters(), lambda n: (rows(n, sizes[0]), 1.0 - 2 * (np.arange(n) % 2))


PROGRAMS = {
    "relu": lambda: penalised((2, 5, 4, 1), "relu"),
    "attention": attention,
}


def test_without_jax_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(function_module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="JAX is not installed: pip install jax"):
        compile(lambda x: Value(x), executor="jax")([1.0])


# ---- nothing is out of date, and no setting changes


@pytest.mark.slow
@pytest.mark.parametrize("is_on", [False, True])
def test_float64_is_local_and_float32_is_a_choice(is_on):
    before = jax.config.jax_enable_x64
    w, xs = Value(0.1), [1.0, 1.0, 1.0]
    try:
        jax.config.update("jax_enable_x64", is_on)
        for executor, expected in (("jax", 0.1), ("jax-float32", float(np.float32(0.1)))):
            w.grad = 0
            compiled = compile(lambda x: w * x, executor=executor)
            batch = compiled(xs)
            batch.backward()
            assert batch.data == pytest.approx(expected, rel=1e-15 if executor == "jax" else 1e-7)
            assert batch.lanes.tolist() == [expected] * 3
            assert (w.grad, compiled.executor) == (1.0, executor)
            assert jax.config.jax_enable_x64 == is_on
            assert jax.numpy.ones(1).dtype == ("float64" if is_on else "float32")
    finally:
        jax.config.update("jax_enable_x64", before)


# ---- several devices


EIGHT = """
import json
import numpy as np
import jax
from compiled import by_batch
from micrograd import compile
from test_run_jax import PROGRAMS

report = {"devices": len(jax.devices()), "off": 0.0}
for name, sizes in (("attention", [13]), ("relu", [1, 3, 403])):
    loss, parameters, examples = PROGRAMS[name]()
    compiled = compile(loss, executor="jax")
    for n in sizes:
        found = by_batch(compiled(*examples(n)), parameters)
        expected = by_batch(compile(loss, executor="numpy")(*examples(n)), parameters)
        for one, other in zip(found, expected):
            report["off"] = max(report["off"], float(np.abs(np.subtract(one, other)).max()))
print(json.dumps(report))
"""


def in_a_process(code, *arguments, devices=8):
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    here = Path(__file__).parent
    path = os.pathsep.join([*map(str, (here, *here.parents[:2])), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], text=True,
        env=os.environ | environment | {"PYTHONPATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def last_line(process):
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(out.splitlines()[-1])


@pytest.mark.slow
def test_eight_devices_share_the_examples():
    report = last_line(in_a_process(EIGHT))
    assert report.pop("off") < 1e-12
    assert report == {"devices": 8}
