from fractions import Fraction

import numpy as np
import pytest

from micrograd.engine import Value, topological_order
from micrograd.graph import Graph, Node, graph, levels, topological_orders
from micrograd.nn import MLP, Module, Neuron


def labels(*roots, **options):
    return [node.label for node in graph(*roots, **options).nodes]


def kinds(*roots, **options):
    return [node.kind for node in graph(*roots, **options).nodes]


def test_one_node_for_each_value_in_topological_order():
    a, b = Value(2.0), Value(3.0)
    drawn = graph(a - b * b)
    assert [node.name for node in drawn.nodes] == ["v0", "v1", "v2", "v3"]
    assert [node.op for node in drawn.nodes] == ["", "", "*", "-"]
    assert [node.operands for node in drawn.nodes] == [(), (), ("v1", "v1"), ("v0", "v2")]
    assert [node.data for node in drawn.nodes] == [2.0, 3.0, 9.0, -7.0]


def test_the_same_program_gives_equal_records():
    def program():
        x = Value(2.0)
        y = (x * x).tanh() - 1.0
        y.backward()
        return graph(y, names=locals())

    assert program() == program()


def test_a_record_stays_when_its_value_changes():
    x = Value(2.0)
    drawn = graph(x)
    x.data = 5.0
    assert drawn == Graph((Node("v0", "", "input", "", (), 2.0, 0),))


def test_several_roots_share_their_nodes():
    x = Value(2.0)
    a, b = x + 1.0, x * x
    assert kinds(a, b) == ["input", "constant", "result", "result"]
    assert kinds(a, a * b)[-1] == "result"


def test_the_first_name_wins_and_private_names_are_passed_over():
    a = Value(1.0)
    assert labels(a, names={"_a": a, "first": a, "second": a}) == ["first"]
    assert labels(a, names={"_a": a}) == [""]


def test_a_label_set_by_hand_wins():
    a = Value(1.0, label="by hand")
    assert labels(a, names={"a": a}) == ["by hand"]


def test_names_from_lists_tuples_and_arrays():
    a, b, c, d, e = (Value(float(i)) for i in range(5))
    names = {
        "w": [a, (b, 3.0)],
        "m": np.array([[c, 1.0]], dtype=object),
        "zero": np.array(d, dtype=object),
        "floats": np.ones((2, 2)),
        "text": "a",
        "e": e,
    }
    root = a + b + c + d + e
    assert [x for x in labels(root, names=names) if x] == [
        "w[0]",
        "w[1][0]",
        "m[0][0]",
        "zero",
        "e",
    ]


def test_a_list_that_holds_itself_does_no_harm():
    a = Value(1.0)
    knot = [a]
    knot.append(knot)
    assert labels(a, names={"knot": knot}) == ["knot[0]"]


def test_names_and_kind_from_a_module():
    model = MLP(2, [2, 1])
    x = [Value(1.0), Value(2.0)]
    drawn = graph(model(x), names={"Neuron": Neuron, "x": x, "model": model})
    by_label = {node.label: node.kind for node in drawn.nodes if node.label}
    parameters = {f"model.{name}" for name, _ in model.named_parameters()}
    assert {label for label, kind in by_label.items() if kind == "parameter"} == parameters
    assert "model.layers[0].neurons[1].w[1]" in by_label
    assert by_label["x[0]"] == by_label["x[1]"] == "input"


def test_a_parameter_stays_one_under_another_name():
    neuron = Neuron(1)
    w = neuron.w[0]
    drawn = graph(w * 2.0, names={"w": w, "models": [neuron]})
    assert (drawn.nodes[0].label, drawn.nodes[0].kind) == ("w", "parameter")


def test_foreign_objects_among_the_names_do_no_harm():
    class Answering:
        def __getattr__(self, name):
            raise RuntimeError("touched")

    class Foreign(Module):
        def named_parameters(self):
            yield "weight", 3.0

    a = Value(1.0)
    names = {"Value": Value, "any": Answering(), "np": np, "foreign": Foreign(), 7: None, "a": a}
    assert labels(a, names=names) == ["a"]


def test_kinds_of_leaves_and_results():
    x = Value(2.0)
    assert kinds(2 * x + 1) == ["constant", "input", "operation", "constant", "result"]
    assert kinds(x) == ["input"]


@pytest.mark.parametrize(
    "data", [2.0, Fraction(1, 3), Value(2.0)], ids=["float", "fraction", "Value"]
)
def test_gradients_are_there_after_backward_only(data):
    x = Value(data)
    y = x * x
    assert not graph(y).has_gradients
    x.grad = 0.0
    assert not graph(y).has_gradients
    y.backward()
    assert graph(y).has_gradients


def test_what_is_no_value_is_refused():
    with pytest.raises(TypeError, match=r"starts from a Value, got float 2\.0: take the result"):
        graph(2.0)
    with pytest.raises(TypeError, match=r"got Value: use names=locals\(\)"):
        graph(Value(1.0), names=Value(1.0))


def essay():
    """The graph whose orders the essay on backpropagation in directed acyclic graphs lists."""
    a, b = Value(3.0, label="a"), Value(4.0, label="b")
    c = a + b
    d, e = 2 * c, c - 1
    f = d / e
    g = f**2
    loss = g - 1.0
    for value, label in zip((c, d, e, f, g, loss), "cdefgL", strict=True):
        value.label = label
    return loss


def test_levels():
    loss = essay()
    level = {v.label: n for v, n in levels(loss).items() if v.label}
    assert level == {"a": 0, "b": 0, "c": 1, "d": 2, "e": 2, "f": 3, "g": 4, "L": 5}
    x = Value(1.0)
    square = x * x
    assert levels(square, x) == {x: 0, square: 1}


def test_all_topological_orders():
    orders = ["".join(v.label for v in order) for order in topological_orders(essay())]
    assert orders == ["abcdefgL", "abcedfgL", "bacdefgL", "bacedfgL"]
    x = Value(1.0)
    assert [len(order) for order in topological_orders(x)] == [1]
    assert len(list(topological_orders(x * x, x + x))) == 2
    leaves = [Value(float(i)) for i in range(3)]
    assert len(list(topological_orders(*leaves))) == 6


def test_topological_orders_of_a_deep_graph_come_one_by_one():
    y = Value(1.0)
    for _ in range(1500):
        y = y.tanh()
    orders = topological_orders(y)
    assert next(orders) == topological_order(y)
    assert next(orders, None) is None


def test_gradients_left_by_an_earlier_pass_do_not_count():
    w = Value(2.0)
    (w * 3.0).backward()
    second = w * 5.0
    assert w.grad == 3.0
    assert not graph(second).has_gradients
    second.backward()
    assert graph(second).has_gradients
    assert graph(w).has_gradients
