"""The child process that compiles the kernel, and what happens meanwhile."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("numba", reason="numba, the extra 'fast', is not installed")

from micrograd import Value, compile
from micrograd.compiler import run_numba
from micrograd.compiler.run_numba import why_not

SAYS = "micrograd: numba compiles its kernel"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel that is ready as soon as its file exists; the child waits for `go` to write it."""
    file, go = tmp_path / "kernel", tmp_path / "go"
    names = SimpleNamespace(
        is_ready=file.exists, not_cached="", compile_now=file.touch, file=file, go=go.touch
    )
    child = f"""
import pathlib, time
with open({str(tmp_path / "started")!r}, "a") as file: print("once", file=file)
while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)
pathlib.Path({str(file)!r}).touch()"""
    run_numba._compilation.cache_clear()
    monkeypatch.setattr(run_numba, "_encoding", lambda: SimpleNamespace(kernel=names))
    monkeypatch.setattr(run_numba, "CHILD", child)
    yield names
    names.go()
    if run_numba._compilation.cache_info().currsize:
        run_numba._compilation().result()
    run_numba._compilation.cache_clear()


def executor_and_reason(executor=""):
    w = Value(2.0)
    function = compile(lambda x: w * x, executor=executor)
    return function, function.executor, function.reason


def test_while_the_kernel_is_being_compiled_functions_run_with_numpy(kernel, capsys, tmp_path):
    function, executor, reason = executor_and_reason()
    assert (executor, "call clear() in a few seconds" in reason) == ("numpy", True)
    assert function([1.0, 2.0]).data == 3.0
    assert executor_and_reason()[1] == "numpy"
    kernel.go()
    assert executor_and_reason("numba")[1:] == ("numba", "")  # waits
    assert executor_and_reason()[1:] == ("numba", "")
    assert function.executor == "numpy"
    function.clear()
    assert (function.executor, function.reason) == ("numba", "")
    assert (tmp_path / "started").read_text() == "once\n"
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(SAYS)


def test_a_child_that_fails_is_reported_once_and_numpy_stays(kernel, capsys, monkeypatch):
    monkeypatch.setattr(run_numba, "CHILD", "raise OSError('the disk is full')")
    executor_and_reason()
    with pytest.raises(ValueError, match="the disk is full"):
        executor_and_reason("numba")
    for _ in range(2):
        _, executor, reason = executor_and_reason()
        assert (executor, "the disk is full" in reason) == ("numpy", True)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(SAYS)
    assert second.endswith("OSError: the disk is full; functions run with NumPy")


def test_a_child_that_cannot_be_started_is_a_reason(kernel, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "could not compile its kernel" in why_not()


def test_a_child_that_compiles_for_another_cache_is_a_reason(kernel, monkeypatch):
    monkeypatch.setattr(run_numba, "CHILD", "pass")
    assert "does not find the kernel that it has compiled" in why_not()


def test_without_a_cache_the_kernel_is_compiled_here_if_asked_for(kernel, capsys):
    kernel.not_cached = "read-only"
    _, executor, reason = executor_and_reason()
    assert (executor, "set NUMBA_CACHE_DIR" in reason) == ("numpy", True)
    assert capsys.readouterr().err == ""
    assert executor_and_reason("numba")[1] == "numba"
    assert "which it cannot cache" in capsys.readouterr().err


def test_a_numba_that_does_not_work_is_a_reason(kernel):
    def is_ready():
        raise ImportError("needs NumPy 2.9 or less")

    kernel.is_ready = is_ready
    assert why_not() == "numba does not work here: needs NumPy 2.9 or less"


def test_the_lock_is_held_by_one_process_at_a_time(tmp_path):
    file = tmp_path / "lock"
    code = """
import pathlib, sys, time
from micrograd.compiler import run_numba
with open(sys.argv[1], "w") as file:
    run_numba._lock(file)
    other = pathlib.Path(sys.argv[1] + "-held")
    other.touch(exist_ok=False)
    time.sleep(0.1)
    other.unlink()
"""
    children = [subprocess.Popen([sys.executable, "-c", code, file]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]


ENDS = """
import sys
from micrograd.compiler import run_numba
run_numba.CHILD = f'''
import pathlib, time
while not pathlib.Path({sys.argv[1]!r}).exists(): time.sleep(0.01)
pathlib.Path({sys.argv[2]!r}).touch()
'''
run_numba._compilation()
"""


def test_a_process_ends_without_waiting_for_its_child(tmp_path):
    go, done = tmp_path / "go", tmp_path / "done"
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", ENDS, go, done]
    run = subprocess.run(command, capture_output=True, text=True)
    [line] = run.stderr.splitlines()
    assert (run.returncode, line.startswith(SAYS)) == (0, True)
    go.touch()
    for _ in range(6000):  # the child goes on alone
        if done.exists():
            return
        time.sleep(0.01)
    pytest.fail("the child ended with its parent")


BOTH = """
import time
from micrograd import Value, compile
w = Value(2.0)
f = compile(lambda x: (w * x).tanh())
before = f([0.5, 1.0]).lanes
reason = f.reason
waiting = compile(lambda x: w * x, executor="numba")
waiting([1.0])
executors = f.executor, waiting.executor
f.clear()
print(reason, *executors, *abs(f([0.5, 1.0]).lanes - before).round(14), f.executor, sep="; ")
"""


@pytest.mark.slow
def test_two_processes_at_once_compile_one_kernel(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", BOTH], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in processes:
        out, err = process.communicate()
        reason, *rest = out.strip().split("; ")
        assert reason == "numba is compiling its kernel: call clear() in a few seconds", err
        assert rest == ["numpy", "numba", "0.0", "0.0", "numba"]
        [line] = err.splitlines()
        assert line.startswith(SAYS)
    assert len(list(tmp_path.rglob("*.nbi"))) == 1
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


INTERRUPTED = """
import signal, sys, threading
import numpy as np
from micrograd import Value, compile

class CtrlC:  # pressed when a module is about to be imported
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it by default
sys.meta_path.insert(0, CtrlC())
w = Value(2.0)
f = compile(lambda x: w * x)
try:
    f(np.array([1.0, 2.0]))
except KeyboardInterrupt:
    print("interrupted")
print(f(np.array([1.0, 2.0])).lanes.tolist(), f.executor, f.reason)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs pthread_kill")
@pytest.mark.parametrize("module", [
    *[pytest.param(name, marks=pytest.mark.slow)
      for name in ("llvmlite", "numba.core.types", "numba.core.typing.templates")],
    "numba.core.dispatcher",
])  # fmt: skip
def test_after_ctrl_c_while_numba_is_imported_the_next_call_runs_on_numba(module):
    assert not why_not()
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True
    )
    assert run.stdout.split() == ["interrupted", "[2.0,", "4.0]", "numba"], run.stderr
