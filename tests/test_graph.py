from fractions import Fraction

import numpy as np
import pytest

from micrograd.draw.graph import at_level, graph, levels, topological_orders
from micrograd.engine import Value, topological_order
from micrograd.nn import MLP, Activation, Layer, Linear, Module, Neuron, Sequential


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
    assert (drawn.nodes[0].data, graph(x).nodes[0].data) == (2.0, 5.0)


def test_several_roots_share_their_nodes():
    x = Value(2.0)
    a, b = x + 1.0, x * x
    assert kinds(a, b) == ["input", "constant", "result", "result"]
    assert kinds(a, a * b)[-1] == "result"


def test_the_first_name_counts_and_private_names_are_ignored():
    a = Value(1.0)
    assert labels(a, names={"_a": a, "first": a, "second": a}) == ["first"]
    assert labels(a, names={"_a": a}) == [""]


def test_a_label_set_by_hand_takes_precedence():
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


def test_plain_names_come_before_lists_and_a_list_of_results_names_nothing():
    a, w = Value(1.0), [Value(2.0), Value(3.0)]
    c = a * w[0] + w[1] * 2.0
    topo = topological_order(c)
    for names in ({"topo": topo, "w": w, "a": a, "c": c}, {"all": [a, *w], "topo": topo, "a": a}):
        found = [x for x in labels(c, names=names) if x]
        assert found in (["a", "w[0]", "w[1]", "c"], ["a", "all[1]", "all[2]"])


def test_names_and_kind_from_a_module():
    model = MLP(2, [2, 1])
    x = [Value(1.0), Value(2.0)]
    drawn = graph(model(x), names={"Neuron": Neuron, "x": x, "model": model})
    by_label = {node.label: node.kind for node in drawn.nodes if node.label}
    parameters = {f"model.{name}" for name, _ in model.named_parameters()}
    assert {label for label, kind in by_label.items() if kind == "parameter"} == parameters
    assert "model.layers[0].neurons[1].w[1]" in by_label
    assert by_label["x[0]"] == by_label["x[1]"] == "input"


def test_names_may_contain_any_objects():
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
def test_a_graph_has_gradients_only_after_backward(data):
    x = Value(data)
    y = x * x
    assert not graph(y).has_gradients
    x.grad = 0.0
    assert not graph(y).has_gradients
    y.backward()
    assert graph(y).has_gradients


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match=r"starts from a Value, got float 2\.0: pass the result"):
        graph(2.0)
    with pytest.raises(TypeError, match=r"got Neuron LinearNeuron.*draw_dot\(model\(x\)\)"):
        graph(Neuron(2, nonlin=False))
    with pytest.raises(TypeError, match=r"got Value: use names=locals\(\)"):
        graph(Value(1.0), names=Value(1.0))


def essay():
    """A graph whose orders are listed in an essay on backpropagation in acyclic graphs."""
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


def test_gradients_of_another_graph_do_not_count():
    w = Value(2.0)
    (w * 3.0).backward()
    second = w * 5.0
    assert w.grad == 3.0
    assert not graph(second).has_gradients
    second.backward()
    assert graph(second).has_gradients
    assert graph(w).has_gradients


# ---- neurons and layers


def boxes(level, *roots, **options):
    """The cards of neurons at level 'neuron', of layers and inputs at level 'layer'."""
    drawn = at_level(graph(*roots, **options), level)
    return [n for n in drawn.nodes if n.level == ("call" if level == "layer" else level)]


def of_one_example():
    model, x = MLP(2, [3, 1], activation="tanh"), [Value(1.0), Value(-2.0)]
    loss = (model(x) - 1.0) ** 2
    loss.backward()
    return model, x, loss


def operations(drawn, box):
    """The operations in a box."""
    return [
        drawn.values[int(name[1:])]._op for name in box.nodes if drawn.values[int(name[1:])]._op
    ]


def test_a_neuron_contains_only_its_operations():
    model, x, loss = of_one_example()
    drawn = at_level(graph(loss, names={"model": model, "x": x}), "neuron")
    nodes = drawn.nodes
    assert [n.level for n in nodes] == [*["op"] * 2, *["neuron"] * 4, *["op"] * 3]
    for box in nodes[2:5]:
        assert operations(drawn, box) == ["*", "+", "*", "+", "tanh"]
    first, last = nodes[2], nodes[5]
    neuron = model.layers[0].neurons[0]
    assert (first.label, first.short, first.op) == ("model.layers[0].neurons[0]", "L0.n0", "tanh")
    assert first.operands == (nodes[0].name, nodes[1].name)
    assert (nodes[0].label, nodes[1].label) == ("x[0]", "x[1]")
    assert first.weights == tuple(w.data for w in neuron.w)
    output = drawn.value_of[first.name]
    assert (first.data, first.grad) == (output.data, output.grad)
    assert last.operands == tuple(n.name for n in nodes[2:5])
    assert (last.op, last.kind) == ("linear", "operation")
    assert [(n.op, n.kind) for n in nodes[6:]] == [
        ("", "constant"), ("-", "operation"), ("**2", "result"),
    ]  # fmt: skip
    assert nodes[7].operands == (last.name, nodes[6].name)


def test_layers_with_their_sizes():
    model, x, loss = of_one_example()
    found = at_level(graph(loss, names={"model": model, "x": x}), "layer").nodes
    inputs, first, second = (n for n in found if n.level == "call")
    assert (inputs.label, inputs.kind, inputs.details) == ("x", "input", ("(2)",))
    assert (first.short, first.details) == ("L0", ("tanh", "2 → 3"))
    assert (second.short, second.details) == ("L1", ("linear", "3 → 1"))
    assert (first.operands, second.operands) == ((inputs.name,), (first.name,))
    assert len(first.data) == 3


def test_a_batch_has_a_neuron_for_each_call_and_one_layer():
    model = MLP(2, [3, 1])
    batch = [[float(i), 1.0] for i in range(8)]
    loss = sum((model(x) - 1.0) ** 2 for x in batch)
    assert len(boxes("neuron", loss)) == 8 * 4
    assert [(n.label, *n.details[1:]) for n in boxes("layer", loss)] == [
        ("x",), ("L0", "2 → 3", "8 examples"), ("L1", "3 → 1", "8 examples"),
    ]  # fmt: skip


def test_an_activation_belongs_to_the_neuron_before_it():
    layer = Linear(2, 3)
    hidden = Sequential(layer, Activation("sigmoid"))([1.0, 2.0])
    assert [n.op for n in boxes("neuron", *hidden)] == ["sigmoid"] * 3
    (box,) = (n for n in boxes("layer", *hidden) if n.kind != "input")
    assert (box.short, box.details) == ("Linear", ("sigmoid", "2 → 3"))
    before = layer([1.0, 2.0])
    after = before.relu()
    shared = boxes("neuron", sum(after) + before[0])  # the first is used twice
    assert [n.op for n in shared] == ["linear", "relu", "relu"]
    assert [n.op for n in boxes("neuron", *after, before[1])].count("linear") == 1
    alone = at_level(graph(*Activation("tanh")([Value(1.0)])), "neuron").nodes
    assert [n.level for n in alone] == ["op", "op"]
    twice = Activation("tanh")(after)
    assert [n.op for n in boxes("neuron", *twice)] == ["relu"] * 3


def test_names_of_neurons():
    model = Sequential(Linear(2, 2, bias=False), Linear(2, 1))
    neuron = Neuron(1)
    found = boxes("neuron", neuron(model([1.0, 2.0])), names=locals())
    assert [(n.label, n.short) for n in found] == [
        ("model.modules[0][0]", "M0.n0"), ("model.modules[0][1]", "M0.n1"),
        ("model.modules[1][0]", "M1.n0"), ("neuron", "neuron"),
    ]  # fmt: skip
    y = neuron(1.0)
    assert [n.label for n in boxes("neuron", y, names=locals())] == ["y"]
    assert [n.label for n in boxes("neuron", y)] == ["Neuron"]
    p = neuron.w[0]  # as a loop over parameters leaves it behind
    assert [n.short for n in boxes("neuron", y, names={"n": neuron, "p": p})] == ["n"]


def test_neurons_of_any_class_are_known_by_their_names():
    class Mine:
        def __init__(self):
            self.w, self.b = [Value(1.0), Value(2.0)], Value(3.0)

        def __call__(self, x):
            return (sum(wi * xi for wi, xi in zip(self.w, x, strict=True)) + self.b).tanh()

    layers = [[Mine(), Mine()], [Mine()]]
    x = [Value(0.5), Value(-1.0)]
    for layer in layers:
        x = [neuron(x) for neuron in layer]
    found = boxes("neuron", *x, names={"layers": layers})
    assert [(n.label, n.op, len(n.weights)) for n in found] == [
        ("layers[0][0]", "tanh", 2), ("layers[0][1]", "tanh", 2), ("layers[1][0]", "tanh", 2),
    ]  # fmt: skip
    (plain,) = boxes("neuron", layers[0][0]([0.5, -1.0]), names={"layers": layers})
    assert plain.operands == ()  # numbers beside the weights are inside


def test_what_computes_a_weight_stays_in_sight():
    layer, scale = Layer(2, 2), Value(3.0, label="scale")
    layer.neurons[1].w[1] = scale * 2.0
    outputs = layer([1.0, 2.0])
    assert boxes("neuron", *outputs)[0].weights == tuple(w.data for w in layer.neurons[0].w)
    assert "scale" in [n.label for n in at_level(graph(*outputs), "neuron").nodes]


def test_one_input_twice_and_inputs_that_were_computed():
    x = Value(0.5)
    twice = x * 2.0
    y = Layer(3, 2)([twice, twice, x])
    drawn = graph(*y)
    for box in boxes("neuron", *y):
        assert box.operands[0] == box.operands[1] != box.operands[2]
        assert len(operations(drawn, box)) == 7
    (layer,) = boxes("layer", *y)
    assert len(layer.operands) == 2


def test_a_part_of_a_layer_has_the_sizes_of_the_whole():
    model = Layer(2, 3)
    y = model([1.0, 2.0])[2]
    (neuron,) = boxes("neuron", y, names={"model": model})
    assert (neuron.label, neuron.kind) == ("model.neurons[2]", "result")
    assert boxes("layer", y)[-1].details[1] == "2 → 3"


def test_a_neuron_that_ignores_an_input_is_not_grouped():
    class FirstInputOnly(Neuron):
        def forward(self, x):
            return self.w[0] * x[0] + self.b

    y = FirstInputOnly(2)([1.0, 2.0])
    assert at_level(graph(y), "neuron").nodes == graph(y).nodes


def test_a_root_is_always_shown():
    neuron = Neuron(2)
    roots = [neuron.w[0], neuron([1.0, 2.0])]
    kept = at_level(graph(*roots, names={"neuron": neuron}), "layer").nodes
    assert [n.label for n in kept if n.kind == "parameter"] == ["neuron.w[0]"]


def test_operands_come_first_at_every_level():
    model = MLP(2, [3, 1])
    batch = [[Value(i) * 0.5, Value(1.0) - i] for i in range(3)]
    loss = sum(model(x) for x in batch)
    for level in ("op", "neuron", "layer", "array"):
        seen = set()
        for node in at_level(graph(loss), level).nodes:
            assert seen >= set(node.operands)
            seen.add(node.name)


def test_graphs_without_neurons_are_the_same_at_every_level():
    x = Value(2.0)
    y = x * x + 1.0
    for level in ("neuron", "layer"):
        assert at_level(graph(y), level).nodes == graph(y).nodes
    assert at_level(graph(x, Neuron(1)([x])), "layer").nodes[0].kind == "input"
