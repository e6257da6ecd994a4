"""Right engines that look unusual: the report must not find a mistake in any of them.

Each is a text with the operations that it lacks, which are "not there yet".
"""

import re

from wrong_engines import FROM_TABLE, RIGHT, TABLE, WRAP, edited

REFUSAL = '        raise Exception("not implemented")\n'
NOISE = """
import sys, time
import matplotlib_that_is_not_there as plt

print("training")
name = input("your name? ")
data = open("points that are not there.csv").read()
model = [Value(i) for i in range(10)]
for step in range(10**9):
    loss = sum(v * v for v in model)
    loss.backward()
    time.sleep(1)
plt.plot(loss.data)
plt.show()
sys.exit(1)
"""

# Keeps a gradient only with requires_grad=True.
ON_DEMAND = edited(
    ('_op="", label=""):', '_op="", requires_grad=False):'),
    ("        self.label = label\n", "        self.requires_grad = requires_grad\n"),
    ("        self._backward = lambda: None\n",
     "        self._backward = lambda: None\n"
     "        self.requires_grad |= any(v.requires_grad for v in self._prev)\n"),
    ("self.grad +=", "self.grad += self.requires_grad *"),
    ("other.grad +=", "other.grad += other.requires_grad *"),
)  # fmt: skip

# The lecture's first half: no plain numbers beside a Value, no reflected operators.
FIRST_HALF = edited(
    (WRAP, "pass"), *((f"    def __{name}__(", f"    def no_{name}(") for name in
                      ("neg", "radd", "rmul", "sub", "rsub", "truediv", "rtruediv", "pow")),
)  # fmt: skip
BESIDE_NUMBERS = {"a + 2.0", "a * 2.0", "2.0 + a", "2.0 * a", "sum([a, b])"}

# Other names for data, grad and backward.
OTHER_NAMES = (
    RIGHT.replace(".data", ".value").replace(".grad", ".gradient").replace("def backward", "def "
    "backprop")
)  # fmt: skip

# Like PyTorch, these free the graph, so that a second backward() on it fails or does nothing.
RUN = "            node._backward()\n"
FREEING = {
    "the graph is freed after backward": (
        (RUN, RUN + "            node._prev, node._backward = (), lambda: None\n"),
    ),
    "the graph is deleted after backward": (
        (RUN, RUN + "            if node._op:\n                del node._prev\n"),
    ),
    "a second backward() is refused": (
        (RUN, RUN + "        self.is_freed = True\n"),
        ("        order, visited", "        if hasattr(self, 'is_freed'):\n"
         "            raise RuntimeError('the graph is freed')\n        order, visited"),
    ),
}  # fmt: skip

ENGINES = {
    "as in the lecture": (RIGHT, ()),
    "a derivative of 1 where relu begins": (edited(("(out.data > 0)", "(self.data >= 0)")), ()),
    "operands in a set": (edited(("tuple(_children)", "set(_children)")), ()),
    **{what: (edited(*edits), ()) for what, edits in FREEING.items()},
    "requires_grad=True is needed": (ON_DEMAND, ()),
    "training at the top level": (RIGHT + NOISE, ()),
    "training before the class": ("steps = 10\nwhile True:\n    steps += 1\n" + RIGHT, ()),
    "the first half of the lecture": (
        FIRST_HALF,
        BESIDE_NUMBERS | {"a - 2.0", "a / 2.0", "2.0 - a", "2.0 / a", "NumPy"}
        | {"-a", "a - b", "a / b", "a ** 2", "a ** 3", "a ** -1", "a ** 0.5"},
    ),
    "an operation refused by Exception": (
        edited(("    def exp(self):\n", "    def exp(self):\n" + REFUSAL),
               ("    def tanh(self):\n", "    def tanh(self):\n" + REFUSAL)),
        {"a.exp()", "a.tanh()"},
    ),
    "an operation refused by assert": (
        edited(("    def relu(self):\n", "    def relu(self):\n        assert 0, 'later'\n")),
        {"a.relu()"},
    ),
    "whole exponents alone": (
        edited(("if not isinstance(n, (int, float)):\n            raise NotImplementedError",
                "if not isinstance(n, int):\n            raise ValueError")), {"a ** 0.5"},
    ),
    "plain numbers refused": (
        edited((WRAP, "if not isinstance(other, Value):\n            raise Exception('no')"),
               ("self * -1", "self * Value(-1)")),
        BESIDE_NUMBERS | {"a - 2.0", "a / 2.0", "2.0 - a", "2.0 / a", "NumPy"},
    ),
    "data of float32": (
        edited(("self.data = data", "self.data = np.float32(data)"),
               ("import math", "import math\nimport numpy as np")), (),
    ),
    "arrays without dimensions": (
        edited(("self.data = data", "self.data = np.array(data, dtype=float)"),
               ("self.grad = 0.0", "self.grad = np.zeros_like(self.data)"),
               ("import math", "import math\nimport numpy as np")), (),
    ),
    "NumPy numbers refused": (
        edited((WRAP, "other = Value(other) if isinstance(other, (int, float)) else other")),
        {"NumPy"},
    ),
    "no __radd__": (edited(("    def __radd__", "    def radd")),
                    {"2.0 + a", "sum([a, b])"}),
    "methods put in later": (
        RIGHT.replace("    def tanh", "    def hyperbolic").replace("__radd__", "plus")
        + "\n\nValue.tanh = Value.hyperbolic\nfor name in ['plus']:\n"
        "    Value.__radd__ = vars(Value)[name]\n", (),
    ),
    "what the class needs is defined after it": (
        edited(("math.tanh(self.data)", "squashed(self.data)"))
        + "\n\ndef squashed(x):\n    return FACTOR * math.tanh(x)\n\n\nFACTOR = 1.0\n", (),
    ),
    "the class is defined in a condition": (
        "try:\n    import numpy_that_is_not_there as np\nexcept ImportError:\n    np = None\n"
        "if np is None:\n" + "\n".join("    " + line for line in RIGHT.splitlines()) + "\n", (),
    ),
    "a later class is the one that counts": (
        "class Value:\n    pass\n\n\nx = Value()\nprint(x + x)\n" + RIGHT, (),
    ),
    "helpers of ours beside a class of its own": (
        "from micrograd import draw_dot\nfrom micrograd.engine import topological_order\n" + RIGHT
        + "\n    def draw(self):\n        return draw_dot(self)\n", (),
    ),
    "ours, imported to compare with": (RIGHT + "\n\nfrom micrograd.engine import Value\n", ()),
    "ours under another name": (
        "from micrograd import Value as Reference\n" + RIGHT + "\n    reference = Reference\n", (),
    ),
    "the class in its own annotations": (
        edited(("def __add__(self, other):", "def __add__(self, other: Value | float) -> Value:"),
               ("def backward(self):", "def backward(self: Value) -> None:")), (),
    ),
    "other names, which are found": (OTHER_NAMES, ()),
    "a walk of another name": (RIGHT.replace("def backward(", "def backwards("), ()),
    "closures called backward": (
        RIGHT.replace("def backward(", "def run(").replace("_backward", "backward"), (),
    ),
    "gradients of None": (
        re.sub(r"(self|other)\.grad \+= ", r"\1.grad = (\1.grad or 0) + ", RIGHT).replace(
            "self.grad = 0.0", "self.grad = None"), (),
    ),
    "plain numbers refused by ValueError": (
        edited((WRAP, "if not isinstance(other, Value):\n            raise ValueError('no')"),
               ("self * -1", "self * Value(-1)")),
        BESIDE_NUMBERS | {"a - 2.0", "a / 2.0", "2.0 - a", "2.0 / a", "NumPy"},
    ),
    "a += of its own": (
        RIGHT + "\n    def __iadd__(self, other):\n        return self + other\n", (),
    ),
    "a class with slots": (
        edited(("class Value:\n", "class Value:\n    __slots__ = ('data', 'grad', 'label', '_op', "
                "'_prev', '_backward')\n\n")), (),
    ),
    "a generic class": (
        "from typing import Generic, TypeVar\n\nT = TypeVar('T')\n"
        + edited(("class Value:", "class Value(Generic[T]):")), (),
    ),
    "operations as a table, without closures": (
        edited(("    def backward", TABLE + "\n    def backward"),
               ("        for node in reversed(order):\n            node._backward()\n",
                FROM_TABLE)), (),
    ),
}  # fmt: skip


def notebook(*cells):
    """A notebook with these code cells, as Jupyter saves it."""
    import json

    made = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
         "source": cell.splitlines(keepends=True)}
        for cell in cells
    ]  # fmt: skip
    text = {"cell_type": "markdown", "metadata": {}, "source": ["# class Value"]}
    return json.dumps({"cells": [text, *made], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
