"""Files that end, crash, loop or print oddly: none passes, hangs, or writes to the terminal."""

import subprocess
import sys
import time

import pytest
from blocks import is_running
from sampling import thinned
from wrong_engines import WRONG, edited

from micrograd.grade import grade_file

SECONDS = 60.0
IN_CLASS = "class Value:\n"


def run_while_defining(code, engine=WRONG):
    """An engine, wrong by default, with code that runs when the class is created."""
    lines = "".join(f"    {line}\n" for line in code.strip().splitlines())
    return engine.replace(IN_CLASS, IN_CLASS + lines, 1)


# Files that pass off our engine as their own.
OURS = {
    "imported": "from micrograd import Value",
    "imported from the engine": "from micrograd.engine import Value",
    "all imported": "from micrograd.engine import *",
    "an alias": "import micrograd\nValue = micrograd.Value",
    "a subclass": "import micrograd\nclass Value(micrograd.Value): pass",
    "a subclass under its name": "from micrograd import Value\nclass Value(Value): pass",
    "a subclass by type": "import micrograd\nValue = type('Value', (micrograd.Value,), {})",
    "found in sys.modules": (
        "import sys, micrograd.engine\nValue = sys.modules['micrograd.engine'].Value"
    ),
    "under the name of another module": (
        "import micrograd\nclass Value(micrograd.Value):\n    __module__ = 'mine'"
    ),
}

# Code that ends its process or changes it, in a class that is wrong.
ENDINGS = {
    "ends the process as if all were well": "import os; os._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "closes every descriptor": "import os; os.closerange(0, 4096)",
    "prints a report": "print('Value: 131 passed'); import sys; sys.__stdout__.write('passed')",
    "writes into the report": """
import os
for fd in range(3, 20):
    try: os.write(fd, b"junk\\n")
    except OSError: pass
""",
    "has no recursion": "import sys; sys.setrecursionlimit(50)",
    "leaves its folder": "import os; os.chdir('/')",
    "ignores signals": """
import signal
for s in signal.valid_signals():
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
""",
}

# Classes with odd answers.
ODD = {
    "not a number": ("self.data = data", "self.data = float('nan')"),
    "infinity": ("self.data = data", "self.data = float('inf')"),
    "a text": ("self.data = data", "self.data = str(data)"),
    "a complex number": ("self.data = data", "self.data = complex(data)"),
    "a huge text": ("self.data = data", "self.data = 'x' * 10**5"),
    "a huge message": ("math.tanh(self.data)", "(_ for _ in ()).throw(ValueError('x' * 10**7))"),
    "a message that steers": ("math.tanh(self.data)", r"int('\x1b[2J\x1b[1;1HVerdict: right\x07')"),
    "equal to everything": ("    def __repr__",
                            "    __eq__ = lambda self, other: True\n"
                            "    __hash__ = lambda self: 1\n\n    def __repr__"),
}  # fmt: skip


def graded(tmp_path, source, **options):
    path = tmp_path / "hostile.py"
    path.write_text(source, encoding="utf-8", errors="surrogatepass")
    report = grade_file(path, **{"seconds": SECONDS, **options})
    fits_a_terminal(report)
    return report


def fits_a_terminal(report):
    text = str(report)
    lines = text.split("\n")
    assert lines[-1].startswith("Verdict: ")
    assert all(character.isprintable() for line in lines for character in line)
    assert max(len(line) for line in lines if " " in line.strip()) <= 80  # a long path is not cut
    text.encode()
    report._repr_html_().encode()
    if report.mistakes:  # a screen has 24 lines, and the prompt takes one
        first = report.mistakes[0][0].rule.split()[0]
        assert any(line.startswith(f"1. {first}") for line in lines[-23:]), text


@pytest.mark.parametrize("what", thinned(OURS, 10))
def test_our_own_engine_is_refused(what, tmp_path):
    report = graded(tmp_path, OURS[what])
    assert report.exit_code == 2, report
    assert "own: there is nothing to grade" in " ".join(str(report).split())


@pytest.mark.parametrize("what", thinned(ENDINGS, 10))
def test_code_that_ends_or_changes_the_process_does_not_pass(what, tmp_path):
    assert graded(tmp_path, run_while_defining(ENDINGS[what])).exit_code != 0
    lines = "".join(f"        {line}\n" for line in ENDINGS[what].strip().splitlines())
    source = WRONG.replace("    def backward(self):\n", "    def backward(self):\n" + lines)
    assert graded(tmp_path, source).exit_code == 1


@pytest.mark.parametrize("what", thinned(ODD, 10))
def test_odd_numbers_texts_and_attributes_are_reported(what, tmp_path):
    report = graded(tmp_path, edited(ODD[what]))
    assert report.exit_code == 1, report


@pytest.mark.parametrize(
    "case",
    thinned([("odd.py", x) for x in (b"\x00", b"", b"\xff\xfe", b"class V\xe4lue: pass",
             b"# coding: nonsense\nclass Value: pass", b"class Value: pass\n" * 3, b"Value = 1",
             b"\xef\xbb\xbfclass Tensor: pass")]
            + [("odd.ipynb", x) for x in (b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [{}]}')],
            13),
)  # fmt: skip
def test_a_file_without_a_program_or_an_engine_does_not_pass(case, tmp_path):
    name, content = case
    path = tmp_path / name
    path.write_bytes(content)
    report = grade_file(path, SECONDS)
    assert report.exit_code in (1, 2)
    fits_a_terminal(report)


@pytest.mark.parametrize(
    "name", thinned(["\x1b[2J.py", "\u202eyp.py", "a b'c\".py", "x" * 200 + ".py"], 4)
)
def test_odd_names_of_files_and_classes_are_shown_as_text(name, tmp_path):
    path = tmp_path / name
    try:
        path.write_text(WRONG)
    except OSError:
        pytest.skip("the system has no such names")
    report = grade_file(path, SECONDS)
    assert report.exit_code == 1
    fits_a_terminal(report)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of processor time")
def test_an_endless_loop_ends_also_without_the_process_that_grades(tmp_path):
    pid = tmp_path / "pid"
    path = tmp_path / "hostile.py"
    code = f"import os\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
    path.write_text(run_while_defining(code))
    command = [sys.executable, "-P", "-m", "micrograd", "grade", str(path), "--seconds", "3"]
    grading = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    grading.kill()
    grading.wait()
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_processes_that_a_file_starts_end_with_it(tmp_path):
    started = tmp_path / "started"
    code = f"""
import subprocess, sys
p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(started)!r}, "w").write(str(p.pid))
"""
    graded(tmp_path, run_while_defining(code))
    end = time.monotonic() + 10
    while is_running(int(started.read_text())) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(int(started.read_text()))
