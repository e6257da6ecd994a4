"""Getting ready to run on numba, and what happens meanwhile."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("numba", reason="numba, the extra 'fast', is not installed")

from micrograd import compile

SAYS = "micrograd: numba compiles its kernel"


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
    compile(lambda x: x, executor="numba")([1.0])  # waits until it is ready
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True
    )
    assert run.stdout.split() == ["interrupted", "[2.0,", "4.0]", "numba"], run.stderr
