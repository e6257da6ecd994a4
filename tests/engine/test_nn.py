"""Neurons, layers, networks, and the published training run of the original package."""

import copy
import csv
import math
import pickle
import random
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

import micrograd
from micrograd.arrays import ValueArray, data_of, values
from micrograd.engine import Value, no_grad
from micrograd.nn import (
    MLP,
    Activation,
    Layer,
    Linear,
    Module,
    Neuron,
    Parameter,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
    accuracy,
)
from micrograd.optim import SGD, Adam, AdamW

MOONS = (
    Path(__file__).parents[2] / "demos" / "published_moons.csv"
)  # make_moons(100, noise=0.1), NumPy seed 1337


def published_moons():
    with MOONS.open() as file:
        rows = list(csv.reader(file))[1:]
    return [[float(x1), float(x2)] for x1, x2, _ in rows], [2 * int(k) - 1 for *_, k in rows]


def published_run(steps):
    """Loss and accuracy of each step of the original package's demo, in the demo's own code."""
    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    X, y = published_moons()
    for k in range(steps):
        inputs = [list(map(Value, xrow)) for xrow in X]
        scores = list(map(model, inputs))
        losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(y, scores)]  # noqa: B905
        data_loss = sum(losses) * (1.0 / len(losses))
        reg_loss = 1e-4 * sum(p * p for p in model.parameters())
        total_loss = data_loss + reg_loss
        accuracy = [(yi > 0) == (scorei.data > 0) for yi, scorei in zip(y, scores)]  # noqa: B905
        model.zero_grad()
        total_loss.backward()
        learning_rate = 1.0 - 0.9 * k / 100
        for p in model.parameters():
            p.data -= learning_rate * p.grad
        yield total_loss.data, sum(accuracy) / len(accuracy)


PUBLISHED = [  # the first steps; `original_demo.py` compares the last of the hundred, compiled
    *((0.8958441028683222, 0.5), (1.7235905336972022, 0.81), (0.7429006313851131, 0.77)),
    *((0.7705641260584201, 0.82), (0.3692793385976538, 0.84)),
]


@pytest.mark.slow
def test_the_published_run_is_reproduced():
    for (loss, share), published in zip(published_run(len(PUBLISHED)), PUBLISHED, strict=True):
        assert (loss, share) == (pytest.approx(published[0], rel=1e-13), published[1])


def test_reprs_and_order_of_random_numbers_are_the_originals():
    random.seed(7)
    expected = [random.uniform(-1, 1) for _ in range(2 * 3 + 3)]
    random.seed(7)
    model = MLP(2, [3, 1])
    assert str(model) == (
        "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], "
        "Layer of [LinearNeuron(3)]]"
    )
    drawn = [w.data for layer in model.layers for n in layer.neurons for w in n.w]
    assert drawn == expected
    assert [n.b.data for layer in model.layers for n in layer.neurons] == [0.0] * 4
    first = model.layers[0].neurons[0]
    assert model.parameters()[:3] == [*first.w, first.b]
    assert len(model.parameters()) == 13


def test_a_neuron_computes_its_formula():
    neuron = Neuron(2)
    neuron.w[0].data, neuron.w[1].data, neuron.b.data = 1.0, -2.0, 0.5
    assert neuron([3.0, 1.0]).data == 1.5
    assert neuron([0.0, 1.0]).data == 0.0
    assert Neuron(2, nonlin=False)([0.0, 0.0])._op == "+"
    names = {"relu": "ReLU", "tanh": "tanh", "sigmoid": "sigmoid"}
    assert {name: Neuron(2, activation=name)([1.0, 1.0])._op for name in names} == names
    assert repr(Neuron(2, activation="linear")) == "LinearNeuron(2)"
    assert repr(Neuron(3, nonlin=False, activation="tanh")) == "LinearNeuron(3)"
    assert not Neuron(3, nonlin=False).nonlin
    assert repr(Layer(2, 1, nonlin="tanh")) == "Layer of [TanhNeuron(2)]"
    assert repr(MLP(1, (n for n in (2, 1)), output="tanh")) == (
        "MLP of [Layer of [ReLUNeuron(1), ReLUNeuron(1)], Layer of [TanhNeuron(2)]]"
    )


@pytest.mark.parametrize("x", [(1.0, 2.0), np.array([1.0, 2.0]), [Value(1.0), 2], iter([1.0, 2.0])])
def test_inputs_may_be_any_sequence(x):
    layer = Layer(2, 3, nonlin=False)
    found = [v.data for v in layer(x)]
    assert found == [v.data for v in layer([1.0, 2.0])]
    first = layer.neurons[0]
    assert found[0] == first.w[0].data * 1.0 + first.w[1].data * 2.0


def test_one_output_is_a_value_and_goes_on_as_one_input():
    assert isinstance(Layer(2, 1)([1.0, 2.0]), Value)
    assert isinstance(MLP(1, [1, 1])(0.5), Value)
    assert len(MLP(2, [1, 3])([1.0, 2.0])) == 3
    f = Layer(2, 2)
    assert len(f([1.0, 2.0]) + f([3.0, 4.0])) == 4  # lists, as in the original


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Neuron(3)([1.0, 2.0]), "Neuron expects 3 inputs, got 2: build its layer with nin"),
        (lambda: MLP(2, [2, 1])([1.0, 2.0, 3.0]), "Neuron expects 2 inputs, got 3"),
        (lambda: MLP(2, [2, 1], activation="gelu"), "'gelu' is not one of relu, tanh, sigmoid"),
        (lambda: MLP(2, [2, 1], init="glorot"), "init 'glorot' is not one of uniform, he, xavier"),
        (lambda: Activation("gelu"), "'gelu' is not one of relu"),
        (lambda: Linear(4, 2)([1.0]), r"expects 4 inputs, got 1: build it as Linear\(1, 2\)"),
        (lambda: Sequential([Linear(2, 3)]), "Sequential expects modules, got .* for a list of"),
        (lambda: Sequential(Linear(2, 3), 3), "Sequential expects modules, got .*3"),
        (lambda: MLP(2, 3), r"MLP expects a list, got 3: write MLP\(2, \[3\]\)"),
        (lambda: MLP(2, 3, "tanh"), r"MLP expects a list, got 3: write MLP\(2, \[3\]\)"),
        *((lambda module=module: module(1.0, Value(2.0), 3.0), "one list of inputs: write model")
          for module in (Neuron(3), Layer(3, 2), MLP(3, [2, 1]), Linear(3, 1))),
    ],
)  # fmt: skip
def test_wrong_sizes_and_names_are_errors(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()


def test_named_parameters_reach_everything_once():
    class Net(Module):
        def __init__(self):
            self.scale = Value(2.0)
            self.tied = self.scale
            self.body = MLP(1, [2])
            self.tables = {"a": [Value(1.0)], "b": (Neuron(1),)}
            self.size = 3

    names = [name for name, _ in Net().named_parameters()]
    assert names == [
        "scale",
        "tables['a'][0]",  # the model's own come before those of the modules inside it
        "body.layers[0].neurons[0].w[0]",
        "body.layers[0].neurons[0].b",
        "body.layers[0].neurons[1].w[0]",
        "body.layers[0].neurons[1].b",
        "tables['b'][0].w[0]",
        "tables['b'][0].b",
    ]
    net = Net()
    for name, p in net.named_parameters():
        assert eval(f"net.{name}") is p
    assert net.parameters() == [p for _, p in net.named_parameters()]
    assert Module().parameters() == []


def test_arrays_of_values_and_parents_among_the_attributes():
    class Child(Module):
        def __init__(self, parent):
            self.parent = parent
            self.table = np.array([[Value(1.0), Value(2.0)]])
            self.sizes = np.array([3, 4])

    class Parent(Module):
        def __init__(self):
            self.child = Child(self)
            self.loop = [self]

    assert [name for name, _ in Parent().named_parameters()] == [
        "child.table[0][0]",
        "child.table[0][1]",
    ]
    child = Parent().child
    assert [name for name, _ in child.named_parameters()] == ["table[0][0]", "table[0][1]"]


def test_a_subclass_may_list_its_parameters_itself():
    class Old(Module):
        def __init__(self):
            self.a, self.b = Value(1.0), Value(2.0)

        def parameters(self):
            return [self.a]

    net = Old()
    net.a.grad = net.b.grad = 1.0
    net.zero_grad()
    assert (net.a.grad, net.b.grad) == (0, 1.0)


def test_a_state_is_loaded_completely_or_not_at_all():
    a, b = MLP(2, [3, 1]), MLP(2, [3, 1])
    state = a.state_dict()
    assert all(type(number) is float for number in state.values())
    b.load_state_dict(state)
    assert b.state_dict() == state
    before = dict(state)
    for wrong, error, message in (
        (
            {**state, "layers[9].b": 1.0},
            ValueError,
            r"of 13 numbers, got 14, .*layers\[9\].b",
        ),
        (
            dict([*state.items()][1:]),
            ValueError,
            r"got 12, .*layers\[0\].neurons\[0\].w",
        ),
        ({}, ValueError, "got 0, missing or unknown"),
        ({**state, "layers[1].neurons[0].b": "x"}, TypeError, "data of a Value, got str 'x'"),
    ):
        with pytest.raises(error, match=message):
            b.load_state_dict(wrong)
        assert b.state_dict() == before


def test_models_can_be_copied_and_pickled():
    model = MLP(2, [2, 1])
    x = [0.3, -0.4]
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin(x).data == model(x).data
        assert not set(twin.parameters()) & set(model.parameters())


@pytest.mark.parametrize(
    ("init", "activation", "last"),
    [("he", "relu", (0.5, 2.5)), ("xavier", "tanh", (0.2, 1.0)), ("uniform", "relu", (100, 1e9))],
)
def test_the_starting_weights_decide_how_outputs_grow_from_layer_to_layer(init, activation, last):
    random.seed(0)
    rng = random.Random(0)
    model = MLP(50, [50] * 6, activation, activation, init=init)
    rows = [[rng.gauss(0, 1) for _ in range(50)] for _ in range(4)]
    with no_grad():
        outputs = [v.data for row in rows for v in model(row)]
    assert last[0] < math.sqrt(fmean(x * x for x in outputs)) < last[1]


def test_linear_sequential_and_activation():
    random.seed(3)
    expected = [random.uniform(-0.5, 0.5) for _ in range(8 + 2)]
    random.seed(3)
    layer = Linear(4, 2)
    assert [p.data for p in layer.parameters()] == expected
    x = [1.0, -2.0, 0.5, 3.0]
    weights = np.array([[w.data for w in row] for row in layer.weight])
    bias = np.array([b.data for b in layer.bias])
    assert np.allclose([v.data for v in layer(x)], weights @ x + bias, rtol=1e-14)
    assert Linear(3, 2, bias=False).bias is None
    assert len(Linear(3, 2, bias=False).parameters()) == 6
    assert Linear(1, 1)(Value(1.0))[0].data != 0
    model = Sequential(layer, Activation("relu"), sum)
    assert model(x).data == sum(max(y, 0.0) for y in weights @ x + bias)
    assert repr(model).startswith("Sequential(Linear(4, 2), Activation('relu'), <built-in")
    assert [name for name, _ in model.named_parameters()][-1] == "modules[0].bias[1]"


def test_accuracy():
    scores = [[1.0, 2.0, 0.0], [Value(3.0), Value(0.0), Value(0.0)], [0.0, 0.0, 1.0]]
    assert accuracy(scores, [1, 0, 1]) == 2 / 3
    assert accuracy(np.array([[0.1, 0.9], [0.9, 0.1]]), np.array([1, 1])) == 0.5
    assert accuracy(scores, [1, 0, 2]) == 1
    for wrong in ([1, 0], []):
        with pytest.raises(ValueError, match="one label for each score"):
            accuracy(scores, wrong)


@pytest.mark.parametrize("score", [math.nan, Value(math.nan), [math.nan], [0.0, Value(math.nan)],
                                   np.array([math.nan, 1.0]), [1.0, 2.0, math.nan]])  # fmt: skip
def test_a_score_of_nan_is_refused(score):
    with pytest.raises(ValueError, match="got NaN: training may have diverged"):
        accuracy([score], [0])
    assert accuracy([[-math.inf, math.inf]], [1]) == 1


@pytest.mark.parametrize(
    ("scores", "label"),
    [
        *((0.5, label) for label in (-2, 2, 0.7, "1")),
        ([0.5], -2),
        *(([1.0, 2.0], label) for label in (-1, 2)),
        *(([1.0, 2.0, 3.0], label) for label in (-2, 0.5)),
    ],
)
def test_labels_that_are_not_classes_are_refused(scores, label):
    with pytest.raises(ValueError, match=f"expected the labels .* got {label!r}"):
        accuracy([scores], [label])


def test_labels_of_two_classes_may_be_signs_and_floats():
    assert accuracy([0.5, -0.5], np.array([1.0, -1.0])) == 1.0
    assert accuracy([0.5, -0.5, -0.5, 0.5], [True, -1, 0.0, 0]) == 0.75


# ---- batches


BATCHED = [
    lambda: Layer(2, 3),
    lambda: Layer(2, 1),
    lambda: MLP(2, [4, 3]),
    lambda: MLP(2, [4, 1], activation="tanh", output="sigmoid"),
    lambda: Linear(2, 3),
    lambda: Linear(2, 1, bias=False),
    lambda: Sequential(Linear(2, 4), ReLU(), Linear(4, 3), Tanh()),
    lambda: Sequential(Linear(2, 1), Sigmoid()),
]


@pytest.mark.parametrize("build", BATCHED)
@pytest.mark.parametrize("n", [1, 2, 5])  # 2 is also the number of inputs
def test_a_batch_gives_a_row_of_outputs_for_each_example(build, n):
    model = build()
    X = np.random.default_rng(n).normal(size=(n, 2))
    rows = [data_of(model(x)).reshape(-1).tolist() for x in X]
    for batch in (X, X.tolist(), list(X), values(X)):
        out = model(batch)
        assert type(out) is ValueArray
        assert out.data.tolist() == rows


def test_batches_that_are_none():
    model = MLP(2, [1])
    assert model(np.ones((0, 2))).shape == (0, 1)
    with pytest.raises(ValueError, match=r"a batch \(n, n_in\), got 3 axes"):
        model(np.ones((1, 2, 2)))
    with pytest.raises(ValueError, match="Neuron expects 2 inputs, got 3"):
        model(np.ones((4, 3)))


def test_a_module_that_defines_forward_is_callable():
    class Scaled(Module):
        def __init__(self):
            self.weight = values([[1.0, 2.0], [3.0, 4.0]])
            self.scale = Value(2.0)

        def forward(self, x):
            return self.scale * (self.weight @ np.asarray(x))

    model = Scaled()
    assert model([1.0, 1.0]).data.tolist() == [6.0, 14.0]
    assert [name for name, _ in model.named_parameters()] == [
        "weight[0][0]", "weight[0][1]", "weight[1][0]", "weight[1][1]", "scale",
    ]  # fmt: skip
    with pytest.raises(NotImplementedError, match="Module defines neither forward nor __call__"):
        Module()(1.0)


def test_accuracy_of_a_batch_and_of_probabilities():
    scores = values([[0.1, 0.9], [0.8, 0.2]])
    assert accuracy(scores, [1, 0]) == 1.0
    assert accuracy([0.4, 0.6], [0, 1], threshold=0.5) == 1.0
    assert accuracy([0.4, 0.6], [0, 1]) == 0.5
    assert accuracy(values([[0.4], [0.6]]), [0, 1], threshold=0.5) == 1.0


def test_linear_layers_give_arrays_for_one_example_as_for_a_batch():
    fc1, fc2 = Linear(2, 3), Linear(3, 2)
    X = [[1.0, -2.0], [0.5, 0.25]]
    batch = fc2(fc1(X).relu())
    for x, row in zip(X, batch.data, strict=True):
        assert fc2(fc1(x).relu()).data.tolist() == row.tolist()
        assert Sequential(fc1, ReLU(), fc2)(x).relu().data.tolist() == np.maximum(row, 0).tolist()
    assert np.allclose((fc1.weight @ X[0] + fc1.bias).data, fc1(X[0]).data)
    fc1.weight.data -= 0.5 * fc1.weight.grad
    assert [name for name, _ in fc1.named_parameters()][:3] == [
        "weight[0][0]", "weight[0][1]", "weight[1][0]",
    ]  # fmt: skip
    sequence = Sequential(Layer(2, 2), Tanh())  # a list inside, an array at the end
    assert sequence([1.0, 2.0]).tanh().shape == (2,)


def test_outputs_kept_by_a_model_are_no_parameters():
    class Keeps(Module):
        def __init__(self):
            self.w = Value(2.0)

        def forward(self, x):
            self.last = self.w * x
            return self.last

    model = Keeps()
    for block in (nullcontext(), no_grad()):
        with block:
            model(3.0)
        assert model.parameters() == [model.w]


# ---- parameters that are declared, frozen, or assigned to


class Scaled(Module):
    def __init__(self, *more):
        self.fc, self.scale, self.more = Linear(2, 1), Parameter(2.0), list(more)

    def forward(self, x):
        return self.fc(x) * self.scale


def test_a_module_with_a_parameter_trains_no_other_leaves():
    given = Value(3.0, label="w")
    model = Scaled(Parameter(values([1.0, 2.0])), Parameter(given), Parameter(np.ones((1, 2))))
    assert len(model.parameters()) == 3 + 1 + 2 + 1 + 2
    assert all(isinstance(p, Parameter) for p in [model.scale, *model.more[0]])
    assert model.more[1].data == 3.0
    model.X = values([5.0])
    with pytest.warns(UserWarning, match=r"Scaled\.X is not trained.* make it nn\.Parameter"):
        assert len(model.parameters()) == 9
    model.X.requires_grad = False  # now it is data on purpose
    assert len(model.parameters()) == 9

    class Gain(Neuron):
        def __init__(self):
            super().__init__(2)
            self.gain = Parameter(1.0)

    assert [name for name, _ in Gain().named_parameters()] == ["w[0]", "w[1]", "b", "gain"]


@pytest.mark.parametrize("optimizer", [SGD, Adam, AdamW])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_frozen_leaf_gets_no_gradient_and_is_not_moved(optimizer, compiled):
    model = Scaled()
    loss = lambda x: (model(x) ** 2).sum()  # noqa: E731
    loss = micrograd.compile(loss, executor="numpy") if compiled else loss
    optimizer = optimizer(model.parameters(), lr=0.1, weight_decay=0.1)  # it holds all of them

    def step():
        before = model.fc.weight.data.tolist(), model.scale.data
        optimizer.zero_grad()
        loss([[1.0, 2.0]] if compiled else [1.0, 2.0]).backward()
        optimizer.step()
        return model.fc.weight.data.tolist() != before[0], model.scale.data != before[1]

    assert step() == (True, True)
    model.fc.weight.requires_grad = False
    assert len(model.parameters()) == 2
    assert len(model.state_dict()) == 4  # saved with the others
    assert [step(), step()] == [(False, True)] * 2
    assert (model.fc.weight.grad == 0).all()
    if compiled:
        loss.step(optimizer, [[1.0, 2.0]])
        assert (model.fc.weight.grad == 0).all()
    model.fc.weight.requires_grad = True
    assert step() == (True, True)


def test_numbers_assigned_to_attributes_set_the_data_of_leaves():
    linear, neuron = Linear(2, 1), Neuron(2)
    leaves = [*linear.parameters(), *neuron.parameters()]
    linear.weight, linear.bias = np.ones((1, 2)), [0.5]
    neuron.w, neuron.b = [1, 2], 3
    assert [p.data for p in leaves] == [1, 1, 0.5, 1, 2, 3]
    assert [*linear.parameters(), *neuron.parameters()] == leaves
    with pytest.raises(ValueError, match=r"weight expects numbers of shape \(1, 2\), got \(2, 1\)"):
        linear.weight = np.ones((2, 1))
    neuron.b = new = Value(4.0)
    assert neuron.b is new
    linear.bias = None
    assert len(linear.parameters()) == 2


def test_a_module_is_frozen_as_a_whole_and_any_object_may_be_an_attribute():
    class Unreadable:
        def __array__(self, *_, **__):
            raise RuntimeError

    model = MLP(2, [2, 1])
    model.layers[0].requires_grad = False
    assert (len(model.parameters()), model.requires_grad) == (3, False)
    model.layers[0].requires_grad = True
    assert (len(model.parameters()), model.requires_grad) == (9, True)
    model.other = Unreadable()
    model.other = [Unreadable()]
