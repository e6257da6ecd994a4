"""Programs in the manner of the well-known lecture and of the original package's notebooks."""

import math
import random
import re

import pytest
from graphviz import Digraph
from own_classes import classes
from plotting import X, Y, data_of
from wrong_engines import RIGHT, class_of

import micrograd
from micrograd import SGD, draw_dot, draw_network, fit, playground, plot
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


# ---- its own classes, on our engine and on a learner's


class Outside:
    """As in many articles: neurons are linear, and the MLP applies tanh between its layers."""

    def __init__(self, mlp):
        self.layers, self.parameters = mlp.layers, mlp.parameters
        kind = type(self.layers[0].neurons[0])
        kind.__call__ = lambda n, x: sum((w * z for w, z in zip(n.w, x, strict=True)), n.b)

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = [out.tanh() for out in layer(x)]
        return self.layers[-1](x)


@pytest.fixture(params=["ours", "own"])
def n(request):
    random.seed(3)
    return classes(Value if request.param == "ours" else class_of(RIGHT))(2, [4, 3, 1])


def data(v):
    return float(v.data)


def test_the_network_is_drawn_with_its_activations_and_outputs(n):
    def titles(model):
        return re.findall(r'label="(\d[^"]*)"', draw_network(model).source)

    assert titles(n) == ["2 inputs", "4 tanh", "3 tanh", "1 tanh"]
    assert draw_dot(n).source == draw_network(n).source
    shown = draw_network(n, [0.5, -0.5]).source.replace("\N{MINUS SIGN}", "-")
    assert f"label=<{data(n([0.5, -0.5])):.2g}> " in shown
    assert titles(n.layers[0]) == ["2 inputs", "4 tanh"]
    assert titles(n.layers[0].neurons[0]) == ["2 inputs", "1 tanh"]
    with pytest.raises(ValueError, match="expects 2 inputs, got 3"):
        draw_network(n, [1.0, 2.0, 3.0])
    assert titles(Outside(n)) == ["2 inputs", "4 tanh", "3 tanh", "1 linear"]


def test_a_network_that_does_more_than_to_call_its_layers_is_not_drawn(n):
    once = type(n).__call__
    type(n).__call__ = lambda n, x: once(n, x) + x[0]
    with pytest.raises(ValueError, match="only calls its parts in order"):
        draw_network(n)
    assert data_of(plot.animate(n, X, Y).page().html)["sizes"] == []


def test_the_boundary_and_a_run_with_its_neurons(n):
    ax = plot.decision_boundary(n, X, Y)
    expected = plot.decision_boundary(lambda x: data(n(x)), X, Y)
    assert abs(ax.images[0].get_array() - expected.images[0].get_array()).max() < 1e-12
    history = plot.animate(n, X, Y)
    optimizer = SGD(n, lr=0.1)
    for _ in range(2):
        loss = sum((n(x) - (2 * k - 1)) ** 2 for x, k in zip(X, Y, strict=True)) / len(X)
        optimizer.zero_grad()
        loss.backward()
        history.record(loss)
        optimizer.step()
    first, second, last = history.all_frames()
    assert first.training["loss"] > second.training["loss"]
    assert first.maps.shape[1] == 4 + 3 + 1
    assert last.weights.tolist() == [data(p) for p in n.parameters()]
    assert second.gradients.tolist() == [float(p.grad) for p in n.parameters()]
    assert data_of(history.page().html)["sizes"] == [2, 4, 3, 1]


def test_fit_trains_it_one_example_after_the_other(n):
    losses = fit(lambda x, k: (n(x) - k) ** 2, X, Y, SGD(n, lr=0.1), steps=3)
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(TypeError, match=r"pass a function such as lambda x, y: .*model\(x\)"):
        fit(n, X, Y, SGD(n), steps=1)


def test_the_page_trains_its_layers(n):
    shown = data_of(playground(n, X, Y, optimizer=SGD(n, lr=0.5)).html, "model")
    assert shown["sizes"] == [2, 4, 3, 1]
    assert shown["activations"] == ["tanh"] * 3
    assert shown["weights"] == [data(p) for p in n.parameters()]


def test_a_compiled_loss_follows_its_network_and_needs_our_engine(n):
    loss = micrograd.compile(lambda x, k: (n(x) - k) ** 2)
    if isinstance(n.layers[0].neurons[0].b, Value):
        expected = sum((n(x) - k) ** 2 for x, k in zip(X, Y, strict=True)).data / len(X)
        assert loss(X, Y).data == pytest.approx(expected, rel=1e-12)
        n.layers[0].neurons.reverse()
        assert micrograd.compile(n)(X).data == pytest.approx(sum(n(x).data for x in X) / len(X))
        assert loss(X, Y).data != pytest.approx(expected, rel=1e-3)
        return
    for needing in (lambda: loss(X, Y), lambda: playground(Outside(n), X, Y)):
        with pytest.raises(TypeError, match="use `from micrograd import Value` in that file"):
            needing()
