"""One solution of each chapter: edits of the program, old -> new. The page offers them."""

import re
from collections.abc import Iterable

ADD = """
    def __add__(self, other):
        return Value(self.data + other.data)
"""
ADD_AND_MUL = """
    def __add__(self, other):
        return Value(self.data + other.data, (self, other), "+")

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), "*")
"""
WITH_CLOSURES = """
    def __add__(self, other):
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def backward(self):
        self.grad = 1.0
        for node in reversed(topological_order(self)):
            node._backward()
"""
MORE_OPERATIONS = """
    def __pow__(self, n):
        out = Value(self.data**n, (self,), f"**{n}")

        def _backward():
            self.grad += n * self.data ** (n - 1) * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,), "tanh")

        def _backward():
            self.grad += (1 - out.data**2) * out.grad

        out._backward = _backward
        return out

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def backward(self):
"""
WRAP = "        other = other if isinstance(other, Value) else Value(other)\n"
SUM, PRODUCT = (
    f'        out = Value(self.data {sign} other.data, (self, other), "{sign}")\n' for sign in "+*"
)

ANSWERS = {
    "slope": [
        ("return 0.0  #",
         "return (f(x + h) - f(x)) / h"),
    ],
    "value": [
        ("        self.grad = 0.0\n",
         "        self.grad = 0.0\n        self._prev = tuple(_children)\n"
         "        self._op = _op\n"),
        (ADD, ADD_AND_MUL),
    ],
    "byhand": [
        ("    L.grad = 0.0  #\n    #\n",
         "    L.grad = 1.0\n"
         "    e.grad = f.data * L.grad\n    f.grad = e.data * L.grad\n"
         "    d.grad = e.grad\n    c.grad = e.grad\n"
         "    a.grad = b.data * d.grad\n    b.grad = a.data * d.grad\n"),
    ],
    "order": [
        ("    order = [root]\n    return order\n",
         "    order, visited = [], set()\n\n"
         "    def visit(node):\n"
         "        if node not in visited:\n"
         "            visited.add(node)\n"
         "            for operand in node._prev:\n"
         "                visit(operand)\n"
         "            order.append(node)\n\n"
         "    visit(root)\n"
         "    return order\n"),
    ],
    "backward": [
        ("        self._op = _op\n",
         "        self._op = _op\n        self._backward = lambda: None\n"),
        (ADD_AND_MUL, WITH_CLOSURES),
    ],
    "neuron": [
        (SUM, WRAP + SUM),
        (PRODUCT, WRAP + PRODUCT),
        ("\n    def backward(self):\n", MORE_OPERATIONS),
        ("import random\n", "import math\nimport random\n"),
        ("        #\n        return self.b\n",
         "        return sum((w * xi for w, xi in zip(self.w, x)), self.b).tanh()\n"),
    ],
    "network": [
        ("    #\n    #\n    #\n",
         "    for p in model.parameters():\n        p.grad = 0.0\n"
         "    loss.backward()\n"
         "    for p in model.parameters():\n        p.data -= rate * p.grad\n"),
    ],
    "boundary": [
        ("MLP(2, [2, 1])", "MLP(2, [8, 1])"),
        ("range(10)", "range(60)"),
        ("rate=0.001", "rate=0.05"),
    ],
}  # fmt: skip


def edited(text: str, edits: Iterable[tuple[str, str]]) -> str:
    """The text after all edits; each old text must be there once, # for any comment."""
    for old, new in edits:
        text, count = re.subn(re.escape(old).replace(r"\#", "#.*"), lambda _, new=new: new, text)  # type: ignore[misc]
        assert count == 1, old
    return text
