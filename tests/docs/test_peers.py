"""The peers in the speed table: each does the same training step."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from blocks import ROOT, block, python
from compiled import skip_without
from demo_scripts import DEMOS, load
from sampling import thinned

import micrograd

LR = 1000.0  # large, so that rounding of the parameters does not hide digits of the gradient


@pytest.fixture(scope="module")
def peers():
    return load("speed/peers")


@pytest.fixture(params=thinned(["W1", "W2", "W3"], 3))
def workload(peers, request):
    return peers.WORKLOADS[request.param]()._replace(lr=LR)


def first_step(build, workload):
    """The loss and the gradient of a new peer's first step, and the peer."""
    peer = build(workload)
    before = peer.parameters()
    loss = float(peer.step())
    return loss, (before - peer.parameters()) / LR, peer


def assert_steps_as_by_hand(peers, build, workload):
    loss, gradient, _ = first_step(build, workload)
    expected_loss, expected, _ = first_step(peers.NumPy, workload)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    assert np.abs(expected).max() > 0.01
    ends = np.cumsum([A.size for A in workload.matrices.values()])[:-1]
    for name, g, e in zip(workload.matrices, np.split(gradient, ends), np.split(expected, ends),
                          strict=True):  # fmt: skip
        assert np.abs(g - e).max() <= 1e-10 * np.abs(e).max(), name


def some_of(workload, examples):
    """The workload with at most this many examples."""
    return workload._replace(inputs=workload.inputs[:examples], targets=workload.targets[:examples])


# ---- the workloads


def test_workloads_have_the_sizes_in_the_table(peers):
    sizes = {"W1": (337, 100), "W2": (2410, 128), "W3": (4192, 1)}
    for key, (parameters, examples) in sizes.items():
        workload = peers.WORKLOADS[key]()
        assert sum(A.size for A in workload.matrices.values()) == parameters
        assert len(workload.inputs) == len(workload.targets) == examples
    assert workload.inputs.shape == (1, 7)
    assert peers.serial().matrices["start"].size == 100


def test_operations_are_counted_as_on_paper(peers):
    operations = {key: make().operations for key, make in peers.WORKLOADS.items()}
    forward = 2 * 100 * (16 * 3 + 16 * 17 + 17)
    assert operations["W1"] == 2 * forward + 2 * 100 * (16 * 16 + 16)
    forward = 2 * 128 * (32 * 65 + 10 * 33)
    assert operations["W2"] == 2 * forward + 2 * 128 * 320
    pairs = 1 + 2 + 3 + 4 + 5 + 6 + 7
    forward = 2 * (7 * (4 * 16 * 16 + 2 * 16 * 64 + 27 * 16) + pairs * (16 + 16))
    assert operations["W3"] == 3 * forward


# ---- NumPy by hand


def test_numpy_by_hand_takes_the_same_step_as_the_eager_engine(peers, workload):
    assert_steps_as_by_hand(peers, peers.Eager, some_of(workload, 20))


# ---- the other peers

WARNS_ABOUT_ITS_OWN_CODE = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("name", "package", "program"),
    [
        ("PyTorch", "torch", None),
        pytest.param("CompiledPyTorch", "torch", "g++", marks=WARNS_ABOUT_ITS_OWN_CODE),
        ("JAX", "jax", None),
        ("CasADi", "casadi", None),
        ("CompiledCasADi", "casadi", "gcc"),
    ],
)
def test_a_peer_takes_the_same_step_as_numpy(peers, workload, name, package, program, monkeypatch):
    pytest.importorskip(package, reason=f"{package} is not installed")
    if program and not shutil.which(program):
        pytest.skip(f"{name} needs {program}")
    monkeypatch.setattr(peers.CompiledCasADi, "FLAGS", ("-O0", "-fPIC", "-shared"))
    assert_steps_as_by_hand(peers, getattr(peers, name), workload)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["numpy", "llvm", "jax"])
def test_compiled_programs_take_the_same_step_as_numpy(peers, workload, executor):
    skip_without(executor)
    build = peers.partial(peers.Compiled, executor=executor)
    assert_steps_as_by_hand(peers, build, workload)


@pytest.mark.parametrize("name", ["this package, eager", "PyTorch, eager", "JAX, jit",
                                  "compiled, NumPy", "compiled, LLVM"])  # fmt: skip
def test_peers_take_the_same_step_on_single_numbers(peers, name, monkeypatch):
    monkeypatch.setattr(peers, "STEPS", 60)
    [peer] = [peer for peer in peers.PEERS if peer.name == name]
    if peer.missing():
        pytest.skip(peer.missing())
    assert_steps_as_by_hand(peers, peer.build, peers.serial()._replace(lr=LR))


# ---- the table


def table(*options):
    """The output of the benchmark for one set of tables."""
    return python(DEMOS / "speed" / "benchmark.py", "--only", "peers", *options).stdout


@pytest.mark.slow
def test_the_table_has_a_row_for_each_peer_and_a_column_for_each_workload():
    out = table("--workloads", "W1", "W3", "--rounds", "1", "--peers", "numpy, by hand")
    assert re.search(r"^ +W1 moons +W3 document$", out, re.M)
    assert re.search(r"^products at \d+ GFLOP/s +[\d.]+ +[\d.]+$", out, re.M)
    assert len(re.findall(r"^NumPy, by hand( +[\d.]+){2}$", out, re.M)) == 2
    assert "left out" not in out


@pytest.fixture
def original(tmp_path):
    """A folder with a copy of this engine, which stands in for the original package."""
    package = tmp_path / "original" / "micrograd"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    ours = Path(micrograd.__file__).parent
    shutil.copy(ours / "engine.py", package)
    shutil.copytree(ours / "core", package / "core")
    return package.parent


@pytest.mark.slow
def test_a_peer_that_cannot_run_is_named(original):
    (original / "micrograd" / "engine.py").write_text("raise RuntimeError('not today')\n")
    out = table("--workloads", "W1", "--rounds", "1", "--peers", "original",
                "--original", original)  # fmt: skip
    assert "left out: original micrograd, eager, W1: RuntimeError: not today" in out


GRADBENCH = ["hello", "llsq", "gmm", "ba", "ht", "saddle", "det", "kmeans"]


@pytest.mark.slow
@pytest.mark.parametrize("names", [GRADBENCH, ["ode", "lotka_volterra", "kalman"]])
def test_programs_of_others_agree_with_jax(names):
    pytest.importorskip("jax")
    gradbench, loops = (
        block("python demos/speed/gradbench.py"), block("python demos/speed/long_loops.py")
    )  # fmt: skip
    [_, script] = (gradbench if names is GRADBENCH else loops).split()
    out = python(ROOT / script, "--rounds", "1", "--only", *names).stdout
    assert [line.split()[0] for line in out.splitlines()[-len(names) :]] == names


def printed(line, folder):
    """The output of a command of the page on speed, with the smallest sizes."""
    script, *options = shlex.split(line, comments=True)[1:]
    small = ["--rounds", "1", "--largest", "1000", "--workloads", "W3", "--peers", "original"]
    return python(ROOT / script, *options, *small, folder=folder).stdout


@pytest.mark.slow
def test_the_commands_for_compiled_functions_print_their_tables(original):
    _, peers, stale = block('pip install -e ".[fast,jax]"').splitlines()
    assert re.search(r"^original micrograd, eager +[\d,.]+$", printed(peers, original.parent), re.M)
    words = re.findall(r"(right|error|old) +[\d.]+$", printed(stale, original.parent), re.M)
    assert words == ["right"] * 25 + ["old"] * 2  # neither the environment nor files are watched


@pytest.mark.slow
def test_the_commands_for_the_eager_engine_print_their_tables(tmp_path):
    shutil.copytree(Path(micrograd.__file__).parent, tmp_path / "original" / "micrograd")
    _, all_of_them, eager = block("pip install --target original").splitlines()
    for line in (all_of_them, eager):
        out = printed(line, tmp_path)
        for row in ("this package", "original"):
            assert re.search(rf"^{row}\b.*?( +[\d,.]+ ms){{4}}$", out, re.M)
        assert re.search(r"^1,000 ( +\d+){6}$", out, re.M)
    assert "right" not in out  # the last line asks for the first tables only


def test_the_lines_for_the_garbage_collector_run():
    assert python("-c", f"{block('import gc')}\nprint(gc.isenabled())").stdout == "False\n"
