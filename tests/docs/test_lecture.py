"""Programs in the manner of the well-known lecture and of the original package's notebooks."""

import math
import random

import pytest
from graphviz import Digraph

from micrograd.engine import Value
from micrograd.nn import MLP


def neuron():
    x1 = Value(2.0, label="x1")
    x2 = Value(0.0, label="x2")
    w1 = Value(-3.0, label="w1")
    w2 = Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    x1w1 = x1 * w1
    x1w1.label = "x1*w1"
    x2w2 = x2 * w2
    x2w2.label = "x2*w2"
    x1w1x2w2 = x1w1 + x2w2
    x1w1x2w2.label = "x1*w1 + x2*w2"
    n = x1w1x2w2 + b
    n.label = "n"
    return x1, x2, w1, w2, b, x1w1, x2w2, x1w1x2w2, n


def test_manual_backpropagation_one_node_after_the_other():
    x1, x2, w1, w2, b, x1w1, x2w2, x1w1x2w2, n = neuron()
    o = n.tanh()
    o.grad = 1.0
    o._backward()
    n._backward()
    b._backward()
    x1w1x2w2._backward()
    x2w2._backward()
    x1w1._backward()
    assert o.data == pytest.approx(math.sqrt(0.5), rel=1e-12)
    for leaf, gradient in ((x1, -1.5), (w1, 1.0), (x2, 0.5), (w2, 0.0), (b, 0.5)):
        assert leaf.grad == pytest.approx(gradient, rel=1e-12)


def test_tanh_in_pieces_gives_the_same():
    whole, pieces = neuron(), neuron()
    o = whole[-1].tanh()
    o.backward()
    e = (2 * pieces[-1]).exp()
    o2 = (e - 1) / (e + 1)
    o2.backward()
    assert o2.data == pytest.approx(o.data, rel=1e-14)
    for a, b in zip(whole, pieces, strict=True):
        assert a.grad == pytest.approx(b.grad, rel=1e-13)


def test_a_variable_used_twice_accumulates():
    a = Value(3.0, label="a")
    b = a + a
    b.backward()
    assert a.grad == 2.0
    a, b = Value(-2.0), Value(3.0)
    d, e = a * b, a + b
    f = d * e
    f.backward()
    assert (a.grad, b.grad) == (-3.0, -8.0)


def test_bumping_leaves_along_the_gradient_raises_the_result():
    a, b, c, f = Value(2.0), Value(-3.0), Value(10.0), Value(-2.0)
    loss = (a * b + c) * f
    loss.backward()
    assert (loss.data, a.grad, b.grad, c.grad, f.grad) == (-8.0, 6.0, -4.0, -2.0, 4.0)
    for v in (a, b, c, f):
        v.data += 0.01 * v.grad
    assert ((a * b + c) * f).data == pytest.approx(-7.286496, rel=1e-9)


def test_an_order_built_by_hand():
    *_, n = neuron()
    o = n.tanh()
    topo, visited = [], set()

    def build_topo(v):
        if v not in visited:
            visited.add(v)
            for child in v._prev:
                build_topo(child)
            topo.append(v)

    build_topo(o)
    o.grad = 1.0
    for node in reversed(topo):
        node._backward()
    by_hand = [node.grad for node in topo]
    for node in topo:
        node.grad = 0
    o.backward()
    assert [node.grad for node in topo] == by_hand


def test_a_drawing_function_written_in_a_notebook():
    def trace(root):
        nodes, edges = set(), set()

        def build(v):
            if v not in nodes:
                nodes.add(v)
                for child in v._prev:
                    edges.add((child, v))
                    build(child)

        build(root)
        return nodes, edges

    *_, n = neuron()
    o = n.tanh()
    o.backward()
    dot = Digraph(format="svg", graph_attr={"rankdir": "LR"})
    nodes, edges = trace(o)
    for v in nodes:
        uid = str(id(v))
        label = "{ %s | data %.4f | grad %.4f }" % (v.label, v.data, v.grad)  # noqa: UP031
        dot.node(name=uid, label=label, shape="record")
        if v._op:
            dot.node(name=uid + v._op, label=v._op)
            dot.edge(uid + v._op, uid)
    for n1, n2 in edges:
        dot.edge(str(id(n1)), str(id(n2)) + n2._op)
    assert "{ x1 | data 2.0000 | grad -1.5000 }" in dot.source
    assert (len(nodes), len(edges)) == (10, 9)


def test_a_network_learns_four_points():
    random.seed(42)
    xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
    ys = [1.0, -1.0, -1.0, 1.0]
    n = MLP(3, [4, 4, 1], activation="tanh")
    assert len(n.parameters()) == 41
    for _ in range(100):
        ypred = [n(x) for x in xs]
        loss = sum((yout - ygt) ** 2 for ygt, yout in zip(ys, ypred))  # noqa: B905
        for p in n.parameters():
            p.grad = 0.0
        loss.backward()
        for p in n.parameters():
            p.data += -0.05 * p.grad
    assert loss.data < 0.05
    assert [yout > 0 for yout in ypred] == [True, False, False, True]
