"""A picture without `names=` takes the variables of the code that asks for it."""

import numpy as np
from blocks import python
from pictures import words

from micrograd import MLP, Layer, Value, draw_dot, explain, mermaid
from micrograd.draw.graph import graph


def labels(text):
    """The first word of each card of Mermaid text, without its operation."""
    cards = (line.split('"')[1] for line in text.splitlines() if line.count('"') == 2)
    return [words(card)[0].split()[-1] for card in cards]


def test_the_variables_of_the_callers_are_names():
    a, b = Value(2.0), Value(-3.0)
    e = a * b
    L = e.tanh()
    assert labels(mermaid(L)) == ["a", "b", "e", "L"]
    assert ">L<" in draw_dot(L).source
    assert {"a", "b", "e", "L"} <= set(explain(L).html.split('"'))


def test_a_parameter_of_a_function_loses_to_a_variable_of_its_caller():
    def show(v):
        return mermaid(v)

    a = Value(2.0)
    L = a.exp()
    assert labels(show(L)) == ["a", "L"]
    assert labels(show(L.exp()))[-1] == "v"  # which has no other name


def test_what_a_loop_left_behind_is_an_entry_of_its_list():
    xs, losses = [Value(1.0), Value(2.0)], []
    for _ in range(2):
        loss = Value(0.0)
        for x in xs:
            loss = loss + x * x
        losses.append(loss)
    found = labels(mermaid(loss))
    assert {"xs[0]", "xs[1]", "loss"} <= {*found}
    assert "x" not in found


def test_hidden_variables_and_an_empty_dict_give_no_names():
    _a = Value(2.0)
    y = _a.exp()
    assert labels(mermaid(y)) == ["2", "y"]
    assert labels(mermaid(y, names={})) == ["2", "exp"]


def test_locals_that_the_user_holds_stay():
    a = Value(1.0)
    mine = locals()
    draw_dot(a.exp())
    assert mine["a"] is a


SCRIPT = """
from micrograd import MLP, Value, draw_dot, values
import numpy as np
model = MLP(2, [2, 1])
for p in model.parameters():
    p.grad = 0
y = model([1.0, 2.0])
print("model.layers" in draw_dot(y, level="op").source, ">y<" in draw_dot(y).source)
X = values([[1.0, 2.0]], label="data"); P = X @ X.T
print(">data<" in draw_dot(P, level="array").source)
"""


def test_a_script_at_the_level_of_its_module(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    assert python(path).stdout.split() == ["True", "True", "True"]


def test_plain_numbers_that_entered_a_network_are_its_inputs():
    X = np.arange(40.0).reshape(20, 2)
    model = MLP(2, [3, 1])
    loss = sum(model(x) ** 2 for x in X)
    assert labels(mermaid(loss))[0] == "X"
    assert "X[0][0]" in labels(mermaid(model(X[0])))
    assert "X[0][0]" not in labels(mermaid(model(X[:2, 0])))  # a column is no row


def test_plain_numbers_that_neurons_multiply_are_shared_inputs():
    xs, layer = [[2.0, 3.0], [3.0, 0.5]], Layer(2, 4)
    x = xs[1]  # the lecture's neurons multiply them: nothing notes where they come from
    acts = [sum((w * xi for w, xi in zip(n.w, x, strict=True)), n.b) for n in layer.neurons]
    y = sum(act.tanh() for act in acts)
    text = mermaid(y, level="neuron")
    assert [text.count(f"xs#91;1#93;#91;{i}#93;") for i in (0, 1)] == [1, 1]


def test_targets_and_columns_of_plain_numbers_have_the_names_of_their_lists():
    xs, ys = [[2.0, 3.0], [1.0, 0.5], [3.0, -1.0]], [1.0, -1.0, 2.0]
    w, b = [Value(0.5), Value(-0.25)], Value(0.1)
    found = labels(
        mermaid(sum((w[0] * x[0] + w[1] * x[1] + b - y) ** 2 for x, y in zip(xs, ys, strict=True)))
    )
    assert {"xs[0][0]", "xs[2][1]", "ys[0]", "ys[2]", "w[1]", "b"} <= {*found}
    found = labels(mermaid(sum((b - y) ** 2 for y in (4.0, -1.0, 2.0))))
    assert "ys[1]" not in found  # the numbers are others


def test_a_leaf_that_several_examples_use_is_a_parameter():
    xs, ys = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]
    w, b, c = Value(0.5), Value(0.1), Value(1.0)
    loss = sum((w * x + b - y) ** 2 for x, y in zip(xs, ys, strict=True)) * c
    kinds = {node.label: node.kind for node in graph(loss, names=locals()).nodes}
    assert (kinds["w"], kinds["b"], kinds["c"]) == ("parameter", "parameter", "input")
    y = w * 2 + w * 3 + w * 5  # numbers of the program, not of data
    assert {node.kind for node in graph(y, names=locals()).nodes[:1]} == {"input"}
