"""What a picture shows: names and kinds of its cards, their operands, neurons and layers."""

from fractions import Fraction

import numpy as np
import pytest
from pictures import arrows, boxes, inputs, names, picture

from micrograd import draw_dot, mermaid
from micrograd.engine import Value, topological_order
from micrograd.nn import MLP, Activation, Layer, Linear, Module, Neuron, Sequential


def test_a_card_for_each_value_after_its_operands_in_their_order():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    y = a - b * b
    cards, _ = picture(y)
    assert [words[:2] for words in cards.values()] == [
        ["a", "data 2"], ["b", "data 3"], ["×", "data 9"], ["−", "data −7"],
    ]  # fmt: skip
    assert arrows(y) == [("b", "×"), ("b", "×"), ("a", "−"), ("×", "−")]


# ---- names


def test_the_first_name_counts_labels_take_precedence_and_private_names_are_ignored():
    a = Value(1.0)
    assert names(a, names={"_a": a, "first": a, "second": a}) == ["first"]
    assert "_a" not in names(a, names={"_a": a})
    a.label = "by hand"
    assert names(a, names={"a": a}) == ["by hand"]


def test_names_from_lists_tuples_and_arrays():
    a, b, c, d, e = (Value(float(i)) for i in range(5))
    given = {
        "w": [a, (b, 3.0)],
        "m": np.array([[c, 1.0]], dtype=object),
        "zero": np.array(d, dtype=object),
        "floats": np.ones((2, 2)),
        "text": "a",
        "e": e,
    }
    assert inputs(a + b + c + d + e, names=given) == ["w[0]", "w[1][0]", "m[0][0]", "zero", "e"]


def test_a_list_names_its_entries_unless_all_are_variables_or_it_is_an_order():
    a, w = Value(1.0), [Value(2.0), Value(3.0)]
    c = a * w[0] + w[1] * 2.0
    topo = topological_order(c)
    assert names(c, names={"topo": topo, "w": w, "a": a, "c": c}) == [
        "a", "w[0]", "×", "w[1]", "2", "×", "+ c",
    ]  # fmt: skip
    assert inputs(c, names={"all": [a, *w], "topo": topo, "a": a}) == ["all[0]", "all[1]", "all[2]"]
    two = {"both": [a, w[0]], "a": a, "b": w[0]}
    assert inputs(a * w[0], names=two) == ["a", "b"]
    halves = [a / 2.0, w[0] / 2.0]
    assert {"/ h[0]", "/ h[1]"} < {*names(halves[0] * halves[1], names={"h": halves})}


def test_names_may_contain_any_objects():
    class Answering:
        def __getattr__(self, name):
            raise RuntimeError("touched")

    class Foreign(Module):
        def named_parameters(self):
            yield "weight", 3.0

    a = Value(1.0)
    given = {"Value": Value, "any": Answering(), "np": np, "foreign": Foreign(), 7: None, "a": a}
    assert names(a, names=given) == ["a"]


@pytest.mark.parametrize("data", [2.0, Fraction(1, 3), Value(2.0)], ids=repr)
def test_a_picture_has_gradients_only_after_backward_of_its_own_result(data):
    def has_gradients(root):
        return "no gradients yet" not in draw_dot(root).source

    x = Value(data)
    y = x * x
    assert not has_gradients(y)
    x.grad = 0.0
    assert not has_gradients(y)
    y.backward()
    assert has_gradients(y)
    assert "left over from before" in draw_dot(x * 5.0).source
    assert has_gradients(x)


def test_a_model_is_no_result():
    with pytest.raises(TypeError, match=r"got Neuron LinearNeuron.*draw_dot\(model\(x\)\)"):
        mermaid(Neuron(2, nonlin=False))


# ---- neurons and layers


def of_one_example():
    model, x = MLP(2, [3, 1], activation="tanh"), [Value(1.0), Value(-2.0)]
    return model, x, (model(x) - 1.0) ** 2


def test_a_neuron_contains_only_its_operations():
    model, x, loss = of_one_example()
    given = {"level": "neuron", "names": {"model": model, "x": x}}
    hidden = [f"tanh L0.n{i}" for i in range(3)]
    assert names(loss, **given) == ["x[0]", "x[1]", *hidden, "linear L1.n0", "1", "−", "x²"]
    assert arrows(loss, **given) == [
        *((x, neuron) for neuron in hidden for x in ("x[0]", "x[1]")),
        *((neuron, "linear L1.n0") for neuron in hidden),
        ("linear L1.n0", "−"), ("1", "−"), ("−", "x²"),
    ]  # fmt: skip


def test_layers_with_their_sizes():
    model, x, loss = of_one_example()
    given = {"level": "layer", "names": {"model": model, "x": x}}
    assert boxes(loss, **given) == [
        ["x", "(2)"],
        ["L0", "tanh", "2 → 3"],
        ["L1", "linear", "3 → 1"],
    ]
    assert arrows(loss, **given)[:2] == [("x", "L0"), ("L0", "L1")]


def test_a_batch_has_a_neuron_for_each_call_and_one_layer():
    model = MLP(2, [3, 1])
    loss = sum((model([float(i), 1.0]) - 1.0) ** 2 for i in range(8))
    assert len(boxes(loss, "neuron", names={})) == 8 * 4
    assert [[words[0], *words[2:]] for words in boxes(loss, "layer", names={})] == [
        ["x"], ["L0", "2 → 3", "8 examples"], ["L1", "3 → 1", "8 examples"],
    ]  # fmt: skip


def test_an_activation_belongs_to_the_neuron_before_it():
    def activations(root):
        return [words[0].split()[0] for words in boxes(root, "neuron", names={})]

    layer = Linear(2, 3)
    hidden = Sequential(layer, Activation("sigmoid"))([1.0, 2.0])
    assert activations(hidden) == ["sigmoid"] * 3
    assert boxes(hidden, "layer", names={})[-1] == ["Linear", "sigmoid", "2 → 3"]
    before = layer([1.0, 2.0])
    after = before.relu()
    assert activations(sum(after) + before[0]) == ["linear", "ReLU", "ReLU"]  # one is used twice
    assert activations([*after, before[1]]).count("linear") == 1
    assert activations(Activation("tanh")([Value(1.0)])) == []
    assert activations(Activation("tanh")(after)) == ["ReLU"] * 3


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
    found = boxes(x, "neuron", names={"layers": layers})
    assert found == [["tanh layers[0].n0"], ["tanh layers[0].n1"], ["tanh layers[1].n0"]]
    alone = {"level": "neuron", "names": {"layers": layers}}  # numbers beside weights are inside
    assert arrows(layers[0][0]([0.5, -1.0]), **alone) == []


def test_what_computes_a_weight_stays_in_sight():
    layer, scale = Layer(2, 2), Value(3.0, label="scale")
    layer.neurons[1].w[1] = scale * 2.0
    assert "scale" in names(layer([1.0, 2.0]), level="neuron")


def test_one_input_twice_and_inputs_that_were_computed():
    x = Value(0.5, label="x")
    twice = x * 2.0
    y = Layer(3, 2)([twice, twice, x])
    for level, count in (("neuron", 2), ("layer", 1)):
        pairs = arrows(y, level=level, names={})
        assert [a for a, _ in pairs].count("x") == 1 + count  # and into its double
    assert len(boxes(y, "layer", names={})[0]) == 3


def test_a_neuron_that_ignores_an_input_is_not_grouped():
    class FirstInputOnly(Neuron):
        def forward(self, x):
            return self.w[0] * x[0] + self.b

    y = FirstInputOnly(2)([1.0, 2.0])
    assert boxes(y, "neuron", names={}) == []


def test_a_root_is_always_shown():
    neuron = Neuron(2)
    roots = [neuron.w[0], neuron([1.0, 2.0])]
    assert "w0" in names(roots, level="layer", names={"neuron": neuron})


@pytest.mark.parametrize("level", ["op", "neuron", "layer", "array"])
def test_operands_come_first_at_every_level(level):
    model = MLP(2, [3, 1])
    loss = sum(model([Value(i) * 0.5, Value(1.0) - i]) for i in range(3))
    cards, pairs = picture(loss, level=level)
    place = {key: i for i, key in enumerate(cards)}
    assert pairs
    assert all(place[a] < place[b] for a, b in pairs)
