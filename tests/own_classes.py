"""What people type: the network of the lecture, and an engine as in microgpt."""

import math
import random


def classes(Value):
    """The lecture's MLP, with its Layer and its Neuron, of Values of any engine."""

    class Neuron:
        def __init__(self, nin):
            self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
            self.b = Value(random.uniform(-1, 1))

        def __call__(self, x):
            act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)  # noqa: B905
            return act.tanh()

        def parameters(self):
            return [*self.w, self.b]

    class Layer:
        def __init__(self, nin, nout):
            self.neurons = [Neuron(nin) for _ in range(nout)]

        def __call__(self, x):
            outs = [n(x) for n in self.neurons]
            return outs[0] if len(outs) == 1 else outs

        def parameters(self):
            return [p for neuron in self.neurons for p in neuron.parameters()]

    class MLP:
        def __init__(self, nin, nouts):
            sz = [nin, *nouts]
            self.layers = [Layer(sz[i], sz[i + 1]) for i in range(len(nouts))]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

        def parameters(self):
            return [p for layer in self.layers for p in layer.parameters()]

    return MLP


class Recorded:
    """As in microgpt: local derivatives beside the operands, no closures, no names."""

    __slots__ = ("_children", "_local_grads", "data", "grad")

    def __init__(self, data, children=(), local_grads=()):
        self.data, self.grad = data, 0
        self._children, self._local_grads = children, local_grads

    def __add__(self, other):
        return Recorded(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other):
        return Recorded(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, n):
        return Recorded(self.data**n, (self,), (n * self.data ** (n - 1),))

    def log(self):
        return Recorded(math.log(self.data), (self,), (1 / self.data,))

    def exp(self):
        return Recorded(math.exp(self.data), (self,), (math.exp(self.data),))

    def relu(self):
        return Recorded(max(0, self.data), (self,), (float(self.data > 0),))
