"""Files that end, crash, loop or print oddly: none passes, hangs, or writes to the terminal."""

import csv
import subprocess
import sys
import time

import pytest
from blocks import is_running
from right_engines import notebook
from sampling import thinned
from wrong_engines import MISTAKES, RIGHT, edited

from micrograd.grade import grade_file
from micrograd.grade.classroom import grade_class, submissions
from micrograd.grade.points import POINTS

SECONDS = 60.0
WRONG = edited((".grad +=", ".grad ="))
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
    "forks": "import os; os.fork() if hasattr(os, 'fork') else 0",
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
    "a message with lone surrogates": ("math.tanh(self.data)", r"int('\ud800\udfff')"),
    "a message that turns around": ("math.tanh(self.data)", r"int('\u202e\u2066\u200f passed')"),
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
    assert "own engine: there is nothing to grade" in " ".join(str(report).split())


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


# ---- a whole class


def handed_in():
    """Forty files as a class hands them in: scripts, notebooks, packages, and hostile ones."""
    right, kinds = dict.fromkeys(("ada", "bo", "cy", "di", "ed", "flo"), RIGHT), [*MISTAKES[::7]]
    files = {f"{name}.py": text for name, text in right.items()}
    files |= {f"wrong{i:02}.py": kind.source for i, kind in enumerate(kinds[:11])}
    files |= {f"note{i}.ipynb": notebook("!pip install x\nimport math", kind.source)
              for i, kind in enumerate(kinds[:3])}  # fmt: skip
    files |= {f"pack{i}/src/engine.py": "from .ops import f\n" + edited(("math.tanh(", "f("))
              for i in range(3)}  # fmt: skip
    files |= {f"pack{i}/src/{name}": text for i in range(3) for name, text in
              {"__init__.py": "", "ops.py": "from math import tanh as f\n"}.items()}  # fmt: skip
    files |= {f"hostile{i}.py": run_while_defining(code, WRONG)
              for i, code in enumerate(ENDINGS.values())}  # fmt: skip
    files |= {"loop1.py": run_while_defining("while True: pass", WRONG), "empty.py": "",
              "loop2.py": edited(("self.grad = 1.0", "while True: pass")),
              "binary.ipynb": "\0", "report/report.pdf": "", "typo.py": "class Valeu: pass",
              }  # fmt: skip
    return files


@pytest.mark.slow
def test_a_class_of_forty_is_graded_whole(tmp_path):
    for name, text in handed_in().items():
        (tmp_path / "class" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "class" / name).write_text(text, encoding="utf-8")
    files = submissions([str(tmp_path / "class")])
    assert len(files) == 40
    *_, results = grade_class(files, POINTS, str(tmp_path / "r.csv"), seconds=8.0)
    outcome = {x.student: x.outcome for x in results}
    good = {*("ada", "bo", "cy", "di", "ed", "flo"), *(f"pack{i}" for i in range(3))}
    assert {name for name, found in outcome.items() if found == "no mistake"} == good
    bad = {"empty", "binary", "report", "typo", "loop1"}
    assert bad <= {name for name, found in outcome.items() if found == "not graded"}
    assert next(x for x in results if x.student == "loop2").first.mistake == "time"
    with open(tmp_path / "r.csv", encoding="utf-8-sig", newline="") as file:
        assert len([*csv.DictReader(file)]) == 40
    assert [x.points() for x in results if x.student in good] == [100.0] * len(good)
