"""Engines and networks to grade: the right ones and their mistakes, and files that need a process.

`wrong_engines.toml` and `wrong_networks.toml` beside this file have them: each mistake edits the
text of the right class.
"""

import __future__

import ast
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from micrograd.__main__ import main

_ENGINES, _NETWORKS = (
    tomllib.loads(Path(__file__).with_name(f"wrong_{name}.toml").read_text(encoding="utf-8"))
    for name in ("engines", "networks")
)
RIGHT = _ENGINES["right"]  # the text of a class like the lecture's
RIGHT_NETWORK = RIGHT + "\n" + _NETWORKS["right"]  # and of a network on it


def edited(*edits, right=RIGHT):
    """The right text after all edits, each made wherever its old text occurs."""
    for old, new in edits:
        assert old in right
        right = right.replace(old, new)
    return right


class Mistake(NamedTuple):
    """A mistake, the rule of rules.toml that it breaks, its edits, the wrong text."""

    name: str
    rule: str
    edits: list
    source: str


def _mistakes(table, right):
    for name, rule, texts in table["mistakes"]:
        edits = [*zip(texts[::2], texts[1::2], strict=True)]
        yield Mistake(name, rule, edits, edited(*edits, right=right))


MISTAKES = [*_mistakes(_ENGINES, RIGHT)]
NETWORK_MISTAKES = [*_mistakes(_NETWORKS, RIGHT_NETWORK)]


def mistake(name):
    """The wrong engine of this name."""
    return next(one for one in MISTAKES if one.name == name)


WRONG = edited((".grad +=", ".grad ="))
WRAP = "other = other if isinstance(other, Value) else Value(other)"
BACKWARD = RIGHT[RIGHT.index("    def backward") :]

# Operations as a table of local derivatives that backward() reads, without closures.
TABLE = """    def _local(self):
        x = [operand.data for operand in self._prev]
        if self._op == "+":
            return [1.0, 1.0]
        if self._op == "*":
            return [x[1], x[0]] if len(x) == 2 else [x[0], x[0]]
        if self._op.startswith("**"):
            n = float(self._op[2:])
            return [n * x[0] ** (n - 1)]
        y = self.data
        return [{"relu": float(y > 0), "exp": y, "tanh": 1 - y**2}[self._op]]
"""
FROM_TABLE = """        for node in reversed(order):
            if node._op:
                for operand, local in zip(node._prev, node._local()):
                    operand.grad += local * node.grad
"""


def class_of(source):
    """The class called Value that a text defines."""
    names = {"__name__": "student"}
    flags = __future__.annotations.compiler_flag  # a class may name itself in its annotations
    exec(compile(source, "student.py", "exec", flags), names)
    return names["Value"]


def body(text):
    """A backward() with another body."""
    return (BACKWARD, "    def backward(self):\n" + text)


# Mistakes that need a process: the text of a file, the rule, the check that is running.
FILES = {
    "a loop without end": (
        edited(body("        self.grad = 1.0\n        while True:\n            pass\n")),
        "time", "backward: of a single node",
    ),
    "a loop while loading": (
        "class Value:\n    while True:\n        pass\n", "time", "file: loads",
    ),
    "no class at all": ("while True:\n    pass\n", "load", "file: loads"),
    "a crash in tanh": (
        edited(("math.tanh(self.data)", "os._exit(3)"), ("import math", "import math, os")),
        "crash", "a.tanh(): value",
    ),
    "an exit that looks like success": (
        edited(("math.tanh(self.data)", "os._exit(0)"), ("import math", "import math, os")),
        "crash", "a.tanh(): value",
    ),
    "input while loading": ("Value = input()\n", "load", "file: loads"),
    "our engine": ("from micrograd import Value\n", "ours", "file: loads"),
    "a syntax error": ("class Value\n    pass\n", "syntax", "file: loads"),
    "no class called Value": ("class Tensor:\n    pass\n", "name", "file: loads"),
    "Value is not a class": ("Value = 3.0\n", "load", "file: loads"),
    "a module that is not there": (
        "import no_module as x\nclass Value(x.Base): pass\n", "module", "file: loads",
    ),
    "a name that is not in a module": (
        "from math import tan_h\nValue = tan_h\n", "import", "file: loads",
    ),
    "one file of a package": (
        "from .helpers import wrapped\n" + RIGHT.replace("Value(other)", "wrapped(other)"),
        "module", "file: loads",
    ),
}  # fmt: skip


def begun(folder, tasks, source=RIGHT):
    """The path of a file made by `micrograd start`, with this many of its eight tasks done."""
    path = folder / "my_engine.py"
    path.unlink(missing_ok=True)
    assert main(["start", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    solved = {x.name: x for x in ast.parse(source).body[1].body if isinstance(x, ast.FunctionDef)}
    for method in reversed(ast.parse(text).body[2].body):
        if isinstance(method, ast.FunctionDef) and (own := solved.get(method.name)):
            number = ast.unparse(method.body)[-3] if "task" in ast.unparse(method.body) else "0"
            if int(number) <= tasks:
                code = ast.unparse(own)
                if tasks < 5 and method.name in ("__add__", "__mul__"):
                    code = re.sub(r"(?s)\n    def _backward.*_backward\n", "\n", code)
                lines = text.splitlines()
                lines[method.lineno - 1 : method.end_lineno] = [
                    f"    {line}" for line in code.splitlines()
                ]
                text = "\n".join(lines) + "\n"
    path.write_text(text, encoding="utf-8")
    return path
