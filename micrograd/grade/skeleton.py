"""The file that `micrograd start my_engine.py` writes: a class Value with its tasks as comments."""

SKELETON = '''"""My own autograd engine. Do the tasks in order; after each one, run

    micrograd grade my_engine.py
"""

import math


class Value:
    """A number that remembers how it was computed."""

    # Task 1. Keep the number in self.data, and start with a gradient of 0 in self.grad. Keep the
    # operands in self._prev (a tuple), the name of the operation in self._op, and in self._backward
    # a function that does nothing: operations replace it.
    def __init__(self, data, _children=(), _op=""):
        raise NotImplementedError("task 1")

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    # Task 2. Return a new Value: the sum, with both operands as its _children.
    # Task 5. Before you return it, give it a _backward: a function without arguments that adds
    # (+=) to the grad of each operand what it receives. That is the local derivative times
    # the gradient of the result, out.grad. Why += and not =? Think of a + a.
    # Task 7. A plain number may be the other operand, as in a + 2. Turn it into a Value first.
    def __add__(self, other):
        raise NotImplementedError("task 2")

    # Task 3. The same for the product. What is the derivative of a * b with respect to a?
    def __mul__(self, other):
        raise NotImplementedError("task 3")

    # Task 4. Set the gradient of this Value to 1. Then call _backward() of each node that leads to
    # it, once, and only after those of all nodes that use it: a topological order, reversed.
    def backward(self):
        raise NotImplementedError("task 4")

    # Task 6. A hyperbolic tangent for neurons (math.tanh). Its derivative is 1 - tanh(x) ** 2.
    def tanh(self):
        raise NotImplementedError("task 6")

    # Task 7. Python calls these if the number is on the left, as in 2 + a and 2 * a.
    def __radd__(self, other):
        raise NotImplementedError("task 7")

    def __rmul__(self, other):
        raise NotImplementedError("task 7")

    # Task 8. More operations: -a, a - b, 2 - a, a ** 2, a / b, 2 / a. Most of them can be made of
    # others. In __rsub__ and __rtruediv__, self is the operand on the right.
    def __neg__(self):
        raise NotImplementedError("task 8")

    def __sub__(self, other):
        raise NotImplementedError("task 8")

    def __rsub__(self, other):
        raise NotImplementedError("task 8")

    def __pow__(self, exponent):
        raise NotImplementedError("task 8")

    def __truediv__(self, other):
        raise NotImplementedError("task 8")

    def __rtruediv__(self, other):
        raise NotImplementedError("task 8")

    # Task 9, if you like: exp, log and relu. `micrograd grade` checks what is there.
'''
