"""A right Value class, and a catalogue of the mistakes that beginners make with it.

The class is like the lecture's: closures, a recursive topological order, and `-` and `/` composed
of other operations. Each mistake edits its text, old -> new, and breaks one rule, a key of
`micrograd.grade.RULES`.
"""

import __future__

from dataclasses import dataclass

RIGHT = """
import math


class Value:
    def __init__(self, data, _children=(), _op="", label=""):
        self.data = data
        self.grad = 0.0
        self.label = label
        self._op = _op
        self._prev = tuple(_children)
        self._backward = lambda: None

    def __repr__(self):
        return f"Value({self.data})"

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, n):
        if not isinstance(n, (int, float)):
            raise NotImplementedError("exponents are plain numbers")
        out = Value(self.data**n, (self,), f"**{n}")

        def _backward():
            self.grad += n * self.data ** (n - 1) * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(max(0.0, self.data), (self,), "relu")

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,), "exp")

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,), "tanh")

        def _backward():
            self.grad += (1 - out.data**2) * out.grad

        out._backward = _backward
        return out

    def __neg__(self):
        return self * -1

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __truediv__(self, other):
        return self * other**-1

    def __rtruediv__(self, other):
        return self**-1 * other

    def backward(self):
        order, visited = [], set()

        def visit(node):
            if node not in visited:
                visited.add(node)
                for operand in node._prev:
                    visit(operand)
                order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node._backward()
"""

# Parts of the text above that several mistakes edit.
ADD = "            self.grad += out.grad\n            other.grad += out.grad\n"
MUL = (
    "            self.grad += other.data * out.grad\n"
    "            other.grad += self.data * out.grad\n"
)
TANH = "self.grad += (1 - out.data**2) * out.grad"
RELU = "self.grad += (out.data > 0) * out.grad"
POW = "self.grad += n * self.data ** (n - 1) * out.grad"
WRAP = "other = other if isinstance(other, Value) else Value(other)"
SUB = "        return self + (-other)\n"
SEED_AND_WALK = RIGHT[RIGHT.index("        self.grad = 1.0") :]
WALK_AND_SEED = "".join(SEED_AND_WALK.splitlines(True)[1:] + SEED_AND_WALK.splitlines(True)[:1])
RSUB = "        return (-self) + other\n"
RSUB_OF_ITS_OWN = """        out = Value(other - self.data, ())

        def _backward():
            self.grad -= out.grad

        out._backward = _backward
        return out
"""
IN_A_DICT = f"""        {WRAP}
        out = Value(self.data {{0}} other.data, (self, other), "{{0}}")
        slopes = {{{{self: {{1}}, other: {{2}}}}}}

        def _backward():
            for operand, slope in slopes.items():
                operand.grad += slope * out.grad

        out._backward = _backward
        return out
"""
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


@dataclass(frozen=True)
class Mistake:
    name: str
    rule: str
    edits: tuple

    def __str__(self):
        return self.name.replace(" ", "-")

    @property
    def source(self):
        """The text of the wrong class."""
        return edited(*self.edits)


def edited(*edits):
    """The right text after all edits, each made wherever its old text occurs."""
    text = RIGHT
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def class_of(source):
    """The class called Value that a text defines."""
    names = {"__name__": "student"}
    flags = __future__.annotations.compiler_flag  # a class may name itself in its annotations
    exec(compile(source, "student.py", "exec", flags), names)
    return names["Value"]


def body(text):
    """A backward() with another body."""
    return (BACKWARD, "    def backward(self):\n" + text)


MISTAKES = [
    # gradients
    Mistake("= instead of +=", "accumulate", ((".grad +=", ".grad ="),)),
    Mistake("= in + alone", "accumulate", ((ADD, ADD.replace("+=", "=")),)),
    Mistake("= in tanh alone", "accumulate", ((TANH, TANH.replace("+=", "=")),)),
    Mistake("no _backward for *", "closure",
            ((MUL, MUL + "\n        _backward = out._backward\n"),)),
    Mistake("no _backward for tanh", "closure", ((TANH, "pass"),)),
    Mistake("_backward named and not called", "walk", (("node._backward()", "node._backward"),)),
    Mistake("seed after the walk", "seed", ((SEED_AND_WALK, WALK_AND_SEED),)),
    Mistake("no return in +", "result",
            (("        return out\n\n    def __mul__", "\n    def __mul__"),)),
    Mistake("no operand of tanh", "children", (('(self,), "tanh"', '(), "tanh"'),)),
    Mistake("no operand of a constant minus a", "children", ((RSUB, RSUB_OF_ITS_OWN),)),
    Mistake("no chain rule in a constant minus a", "chain",
            ((RSUB, RSUB_OF_ITS_OWN.replace(", ()", ", (self,)").replace("out.grad", "1.0")),)),
    Mistake("_backward called instead of kept", "seed",
            (("out._backward = _backward", "_backward()"), ("        self.grad = 1.0\n", ""))),
    Mistake("_backward called where it is set", "closure",
            (("out._backward = _backward", "out._backward = _backward()"),)),
    Mistake("chain rule left out in *", "chain",
            ((MUL, MUL.replace(" * out.grad", "")),)),
    Mistake("chain rule left out in tanh", "chain", ((TANH, TANH.replace(" * out.grad", "")),)),
    Mistake("derivatives of * swapped", "exchanged",
            ((MUL, "            self.grad += self.data * out.grad\n"
                   "            other.grad += other.data * out.grad\n"),)),
    Mistake("power without its exponent", "derivative", ((POW, POW.replace("n * ", "", 1)),)),
    Mistake("power with the wrong exponent", "derivative", ((POW, POW.replace("(n - 1)", "n")),)),
    Mistake("tanh squared forgotten", "derivative", ((TANH, TANH.replace("**2", "")),)),
    Mistake("exp as if it were a power", "derivative",
            (("self.grad += out.data * out.grad", "self.grad += self.data * out.grad"),)),
    Mistake("relu without a test", "derivative", ((RELU, "self.grad += out.grad"),)),
    Mistake("relu tests the gradient", "derivative",
            ((RELU, "self.grad += (out.grad > 0) * out.grad"),)),
    Mistake("relu tests whether the result is above 1", "derivative",
            ((RELU, "self.grad += (out.data > 1) * out.grad"),)),
    Mistake("relu leaky backward alone", "derivative",
            ((RELU, "self.grad += (1.0 if out.data > 0 else 0.01) * out.grad"),)),
    Mistake("quotient with the wrong sign", "derivative",
            (("        return self * other**-1\n",
              "        if not isinstance(other, Value):\n"
              "            return self * (1 / other)\n"
              "        out = Value(self.data / other.data, (self, other), '/')\n\n"
              "        def _backward():\n"
              "            self.grad += out.grad / other.data\n"
              "            other.grad += self.data / other.data**2 * out.grad\n\n"
              "        out._backward = _backward\n"
              "        return out\n"),)),
    Mistake("difference without its sign", "derivative",
            ((SUB, "        " + WRAP + "\n"
                   "        out = Value(self.data - other.data, (self, other), '-')\n\n"
                   "        def _backward():\n" + ADD + "\n"
                   "        out._backward = _backward\n"
                   "        return out\n"),)),
    Mistake("gradient is a Value", "number",
            ((MUL, MUL.replace("other.data *", "other *").replace("self.data *", "self *")),)),
    Mistake("descent inside backward", "untouched",
            (("            node._backward()\n",
              "            node._backward()\n            node.data -= 0.01 * node.grad\n"),)),
    Mistake("tanh overwrites its operand", "untouched",
            ((TANH, "self.data = out.data; " + TANH),)),
    Mistake("swapped in *, and a set of operands that is never read", "exchanged",
            (("tuple(_children)", "set(_children)"),
             (MUL, "            self.grad += self.data * out.grad\n"
                   "            other.grad += other.data * out.grad\n"))),
    Mistake("= for the right operand of + alone", "accumulate",
            ((ADD, ADD.replace("other.grad +=", "other.grad =")),)),
    Mistake("other.grad for other.data in *", "reads",
            ((MUL, MUL.replace("other.data", "other.grad")),)),
    Mistake("other.grad and self.grad for data in *", "reads",
            ((MUL, MUL.replace("other.data", "other.grad").replace("self.data", "self.grad")),)),
    Mistake("power reads the gradient of its operand", "reads",
            ((POW, POW.replace("out.grad", "self.grad")),)),
    # the walk
    Mistake("a seed for every node", "seed",
            (("        self.grad = 1.0\n", ""),
             ("            node._backward()\n",
              "            node.grad = 1.0\n            node._backward()\n"))),
    *(Mistake(f"{children} of {sign}", "children",
              (("(self, other), " + sign, children + ", " + sign),))
      for sign in ('"+"', '"*"') for children in ("(self,)", "(other,)")),
    Mistake("no seed", "seed", (("        self.grad = 1.0\n", ""),)),
    Mistake("order not reversed", "walk", (("in reversed(order)", "in order"),)),
    Mistake("one level alone", "walk",
            (body("        self.grad = 1.0\n        self._backward()\n"),)),
    Mistake("preorder", "order",
            (("                order.append(node)\n", ""),
             ("                visited.add(node)\n",
              "                visited.add(node)\n                order.append(node)\n"),
             ("reversed(order)", "order"))),
    Mistake("breadth first", "order",
            (body("        order, visited = [self], {self}\n"
                  "        for node in order:\n"
                  "            for operand in node._prev:\n"
                  "                if operand not in visited:\n"
                  "                    visited.add(operand)\n"
                  "                    order.append(operand)\n"
                  "        self.grad = 1.0\n"
                  "        for node in order:\n"
                  "            node._backward()\n"),)),
    Mistake("a stack without order", "order",
            (body("        stack, visited = [self], {self}\n"
                  "        self.grad = 1.0\n"
                  "        while stack:\n"
                  "            node = stack.pop()\n"
                  "            node._backward()\n"
                  "            for operand in node._prev:\n"
                  "                if operand not in visited:\n"
                  "                    visited.add(operand)\n"
                  "                    stack.append(operand)\n"),)),
    Mistake("no visited set", "once",
            (("            if node not in visited:\n", "            if True:\n"),)),
    Mistake("no visited set, and operands in a set", "once",
            (("tuple(_children)", "set(_children)"),
             ("            if node not in visited:\n", "            if True:\n"))),
    Mistake("listed once for each operand", "once",
            (("                order.append(node)\n", "                    order.append(node)\n"),
             ("tuple(_children)", "set(_children)"))),
    Mistake("right but along all paths", "paths",
            (("            node._backward()\n", "            pass\n"),
             ("        visit(self)\n", ""),
             ("        self.grad = 1.0\n", "        self.along(1.0)\n"),
             ("    def backward", TABLE + """
    def along(self, gradient):
        self.grad += gradient
        if self._op:
            for operand, local in zip(self._prev, self._local()):
                operand.along(gradient * local)

    def backward"""))),
    Mistake("visited kept from call to call", "again",
            (("        order, visited = [], set()\n", "        order = []\n"),
             ("def visit(node):", "def visit(node, visited=Value.visited):"),
             ("class Value:\n", "class Value:\n    visited = set()\n\n"))),
    Mistake("order kept from call to call", "again",
            (("order, visited = [], set()", "order, visited = Value.order, set()"),
             ("class Value:\n", "class Value:\n    order = []\n\n"))),
    Mistake("order and visited kept on the class", "again",
            (("        order, visited = [], set()\n",
              "        order, visited = self.order, self.visited\n"),
             ("class Value:\n", "class Value:\n    order, visited = [], set()\n\n"))),
    # operands and identity
    Mistake("operands in a set", "operands",
            (("tuple(_children)", "set(_children)"),
             ("    def backward", TABLE + "\n    def backward"),
             ("        for node in reversed(order):\n            node._backward()\n", FROM_TABLE))),
    Mistake("local derivatives in a dict with the operands as keys", "operands",
            ((SUB, IN_A_DICT.format("-", 1.0, -1.0)),
             ("        return self * other**-1\n",
              IN_A_DICT.format("/", "1 / other.data", "-self.data / other.data**2")))),
    Mistake("equality of data", "identity",
            (("    def __repr__", "    def __eq__(self, other):\n"
              "        return self.data == other.data\n\n"
              "    def __hash__(self):\n"
              "        return hash(self.data)\n\n"
              "    def __repr__"),)),
    Mistake("equality without hash", "identity",
            (("    def __repr__", "    def __eq__(self, other):\n"
              "        return self.data == other.data\n\n"
              "    def __repr__"),)),
    Mistake("a set as default argument", "fresh",
            (("_children=()", "_children=set()"), ("tuple(_children)", "_children"),
             ("(self, other), ", ""), ("(self,), ", ""), ('"+")', '_op="+")'), ('"*")', '_op="*")'),
             ('f"**{n}")', '_op="**")'), ('"relu")', '_op="relu")'), ('"exp")', '_op="exp")'),
             ('"tanh")', '_op="tanh")'),
             ("        out._backward = _backward\n",
              "        out._backward = _backward\n        out._prev.add(self)\n"))),
    Mistake("grad kept on the class", "fresh",
            (("        self.grad = 0.0\n", "        Value.grad = 0.0\n"),
             ("self.grad = 1.0", "Value.grad = 1.0"), ("self.grad +=", "Value.grad +="),
             ("other.grad +=", "Value.grad +="))),
    # plain numbers
    Mistake("constants not wrapped in *", "wrap",
            (("    def __mul__(self, other):\n        " + WRAP, "    def __mul__(self, other):"),)),
    Mistake("__rmul__ asks the number", "reflected",
            (("    def __rmul__(self, other):\n        return self * other\n",
              "    def __rmul__(self, other):\n        return other.__mul__(self)\n"),)),
    Mistake("constants not wrapped among the operands of *", "wrap",
            (("    def __mul__(self, other):\n        " + WRAP + "\n"
              '        out = Value(self.data * other.data, (self, other), "*")\n',
              "    def __mul__(self, other):\n"
              '        x = other.data if isinstance(other, Value) else other\n'
              '        out = Value(self.data * x, (self, other), "*")\n'),)),
    Mistake("__rsub__ unswapped", "swapped", (("return (-self) + other", "return self - other"),)),
    Mistake("__rtruediv__ unswapped", "swapped",
            (("return self**-1 * other", "return self / other"),)),
    Mistake("whole numbers alone", "construct", (("self.data = data", "self.data = int(data)"),)),
    Mistake("a gradient of None", "construct", (("self.grad = 0.0", "self.grad = None"),)),
    Mistake("arrays as data", "construct",
            (("self.data = data", "self.data = np.array([data])"),
             ("import math", "import math\n\nimport numpy as np"))),
    Mistake("numbers of NumPy cut to whole ones", "numpy",
            (("self.data = data",
              "self.data = data if type(data) in (int, float) else int(data)"),)),
    # forward
    Mistake("floor division", "value",
            (("        return self * other**-1\n",
              "        other = other if isinstance(other, Value) else Value(other)\n"
              "        return Value(self.data // other.data, (self, other), '/')\n"),)),
    Mistake("powers by repeated products", "value",
            (("Value(self.data**n, ", "Value(math.prod([self.data] * int(n)), "),)),
    Mistake("relu the wrong way round", "value", (("max(0.0", "min(0.0"),)),
    Mistake("sum instead of product", "value",
            (("self.data * other.data, ", "self.data + other.data, "),)),
    Mistake("a number instead of a Value", "result",
            (("        out = Value(math.exp(self.data), (self,), \"exp\")\n",
              "        return math.exp(self.data)\n"),)),
    Mistake("return forgotten", "result",
            (("            " + TANH + "\n\n        out._backward = _backward\n        return out\n",
              "            " + TANH + "\n\n        out._backward = _backward\n"),)),
    Mistake("negation and difference lead to each other", "recursion",
            (("        return self * -1\n", "        return 0 - self\n"),)),
    Mistake("a typing mistake", "runs", (("math.tanh", "math.tan_h"),)),
    Mistake("sys.exit inside an operation", "crash",
            (("math.exp(self.data)", "sys.exit()"), ("import math", "import math, sys"))),
    Mistake("no __mul__", "runs", (("    def __mul__", "    def mul"),)),
    Mistake("no backward", "needed", (("    def backward", "    def gradients"),)),
]  # fmt: skip

# Mistakes that need a process: the text of a file, the rule, the check that is running.
FILES = {
    "a loop without end": (
        edited(body("        self.grad = 1.0\n        while True:\n            pass\n")),
        "time", "backward: of a single node",
    ),
    "a queue from which nothing is taken": (
        edited(body("        self.grad = 1.0\n        queue = [self]\n"
                    "        while queue:\n"
                    "            node = queue[0]\n"
                    "            node._backward()\n"
                    "            queue.extend(node._prev)\n")),
        "time", "backward: of a single node",
    ),
    "a loop while loading": ("while True:\n    pass\n", "time", "file: loads"),
    "a crash in tanh": (
        edited(("math.tanh(self.data)", "os._exit(3)"), ("import math", "import math, os")),
        "crash", "a.tanh(): value",
    ),
    "an exit that looks like success": (
        edited(("math.tanh(self.data)", "os._exit(0)"), ("import math", "import math, os")),
        "crash", "a.tanh(): value",
    ),
    "sys.exit while loading": ("import sys\nsys.exit()\n", "load", "file: loads"),
    "input while loading": ("Value = input()\n", "load", "file: loads"),
    "os._exit while loading": ("import os\nos._exit(0)\n" , "crash", "file: loads"),
    "os._exit in the class": (
        RIGHT.replace("class Value:\n", "class Value:\n    import os\n    os._exit(0)\n"),
        "crash", "file: loads",
    ),
    "our engine": ("from micrograd import Value\n", "ours", "file: loads"),
    "a syntax error": ("class Value\n    pass\n", "syntax", "file: loads"),
    "no class called Value": ("class Tensor:\n    pass\n", "name", "file: loads"),
    "Value is not a class": ("Value = 3.0\n", "load", "file: loads"),
    "a module that is not there": ("import no_such_module_anywhere\n", "module", "file: loads"),
    "a name that is not in a module": ("from math import tan_h\n", "module", "file: loads"),
    "one file of a package": (
        "from .helpers import wrapped\n" + RIGHT.replace("Value(other)", "wrapped(other)"),
        "package", "file: loads",
    ),
}  # fmt: skip

HOG = edited(("math.exp(self.data)", "len([0.0] * 10**10)"))  # 80 gigabytes at once
