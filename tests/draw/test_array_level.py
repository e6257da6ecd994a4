"""Graphs of arrays: one box for each array instead of one node for each element."""

import gc
import re
import weakref

import numpy as np
import pytest
from pictures import arrows, inputs, names, picture

from micrograd import Value, draw_dot, explain, mermaid, topological_order, values
from micrograd.core.origin import origin
from micrograd.draw.array_level import with_arrays
from micrograd.draw.formulas import number
from micrograd.draw.graph import graph
from micrograd.losses import cross_entropy
from micrograd.nn import MLP, Linear


def regression():
    """By name: the arrays of a linear regression on 64 points, and its loss after backward()."""
    rng = np.random.default_rng(0)
    X, W = values(rng.normal(size=(64, 2))), values(rng.normal(size=(2, 1)))
    y = values(rng.normal(size=(64, 1)))
    P = X @ W
    L = ((P - y) ** 2).mean()
    L.backward()
    return {"X": X, "W": W, "y": y, "P": P, "L": L}


def cells(dot):
    """The texts of the cells of all cards."""
    found = re.split("</TD>|label=<", dot.source.replace("&#160;", " ").replace("\xa0", " "))
    return [re.sub("<.*?>", "", text).strip() for text in found]


def test_a_regression_has_a_box_for_each_array():
    given = regression()
    cards, _ = picture(given["L"], level="array", names=given)
    assert len(topological_order(given["L"])) > 500
    shapes = {card[0]: card[1] for card in cards.values()}
    assert shapes["X"] == "data (64 × 2)"
    assert shapes["@ P"] == shapes["y"] == shapes["−"] == "data (64 × 1)"
    assert arrows(given["L"], level="array", names=given) == [
        ("X", "@ P"), ("W", "@ P"), ("@ P", "−"), ("y", "−"), ("−", "x²"), ("x²", "mean L"),
    ]  # fmt: skip


def test_cards_show_shapes_of_data_and_gradients():
    given = regression()
    looks = {"names": given, "level": "array"}
    source = draw_dot(given["L"], parameters=given["W"], **looks).source
    assert re.findall(r">(\(\d+ × \d+\))<", source).count("(64 × 2)") == 2
    assert inputs(given["L"], parameters=[given["W"]], **looks) == ["X", "y"]
    before = ((given["X"] @ given["W"] - given["y"]) ** 2).mean()
    for v in (given["X"], given["W"], given["y"]):
        v.zero_grad()
    dot = draw_dot(before, **looks)
    assert re.findall(r">(\(\d+ × \d+\))<", dot.source).count("(64 × 2)") == 1
    assert "no gradients yet: call backward()" in dot.source


def test_plain_numbers_and_plain_arrays_are_constants():
    X, W = np.ones((4, 2)), values(np.ones(2))
    loss = (2 * (X @ W)).sum()
    given = {"level": "array", "names": {"X": X, "W": W}}
    assert {("W", "@"), ("2", "×"), ("@", "×")} < {*arrows(loss, **given)}


@pytest.mark.parametrize(
    "function",
    [
        *(lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b),
        *(lambda a, b: -a, lambda a, b: abs(a), lambda a, b: a**3, lambda a, b: a.relu()),
        *(lambda a, b: a.tanh(), lambda a, b: a.exp(), np.maximum),
    ],
)
def test_operations_have_the_signs_of_values(function):
    a, b = values([1.0, 2.0]), values([3.0, 4.0])
    shown = names(function(a, b), level="array", names={"a": a, "b": b})
    assert shown[-1] == names(function(Value(1.0), Value(3.0)), names={})[-1]


@pytest.mark.parametrize(
    ("reduction", "op"),
    [
        (lambda a: a.sum(), "sum"), (lambda a: np.sum(a), "sum"), (lambda a: a.mean(), "mean"),
        (lambda a: np.mean(a), "mean"), (lambda a: a.max(), "max"), (lambda a: np.prod(a), "prod"),
        (lambda a: a @ a, "@"), (lambda a: np.dot(a, a), "dot"), (np.cumsum, "cumsum"),
    ],
)  # fmt: skip
def test_reductions(reduction, op):
    a = values([1.0, 2.0, 3.0])
    assert names(reduction(a), names={"a": a}, level="array") == ["a", op]


def test_a_view_has_a_box_behind_that_of_its_array():
    A = values([[1.0, 2.0], [3.0, 4.0]])
    given = {"level": "array", "names": {"A": A}}
    cards, _ = picture((A.T @ A[:, 0]).sum(), **given)
    assert [*cards.values()][1][:2] == ["T Aᵀ", "data [1 3; 2 4]"]
    turned, column = "T Aᵀ", "[ ] A[…]"
    assert arrows((A.T @ A[:, 0]).sum(), **given) == [
        ("A", turned), ("A", column), (turned, "@"), (column, "@"), ("@", "sum"),
    ]  # fmt: skip
    # an array that was computed, and one that leads to the result only in part
    for root, shown in (
        ((A * 2.0).reshape(4)[1:] * 3.0, ["A", "2", "×", "[ ]", "3", "×"]),
        (A[0] * A[0], ["A", "[ ] A[0]", "×"]),
    ):
        assert names(root, **given) == shown
    assert "concatenate" in names(np.concatenate([A * 2.0, A[:1] * 5.0]) * 3.0, **given)


PRODUCTS = [  # of a 3 x 3 matrix A and a 2 x 3 matrix B
    (lambda A, B: A @ B.T, "Bᵀ", "∂L/∂P · B   (3 × 2) (2 × 3)", "Aᵀ · ∂L/∂P   (3 × 3) (3 × 2)"),
    (lambda A, B: B.reshape(3, 2) @ A[1:], "B.reshape(3, 2)", "∂L/∂P · A[…]ᵀ   (3 × 3) (3 × 2)",
     "B.reshape(3, 2)ᵀ · ∂L/∂P   (2 × 3) (3 × 3)"),
    (lambda A, B: B[0] @ A, "B[0]", "∂L/∂P · Aᵀ   (1 × 3) (3 × 3)",
     "B[0]ᵀ · ∂L/∂P   (3 × 1) (1 × 3)"),
    (lambda A, B: np.concatenate([A[:1], B]) @ np.ones(3), "concatenate",
     "∂L/∂P · v2ᵀ   (3 × 1) (1 × 3)"),
    (lambda A, B: [[1.0, 2.0]] @ B, "B", "v1ᵀ · ∂L/∂P   (2 × 1) (1 × 3)"),
    (lambda A, B: A.reshape(3, 1, 3) @ B.T, "Bᵀ", "∂L/∂P · B   (3 × 1 × 2) (2 × 3)",
     "∑ A.reshape(3, 1, 3)ᵀ · ∂L/∂P   (3 × 3 × 1) (3 × 1 × 2)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("product", "title", "rules"), [(f, t, rules) for f, t, *rules in PRODUCTS]
)
def test_a_product_shows_its_factors_as_they_were_multiplied(product, title, rules):
    given = {"A": values(np.arange(9.0).reshape(3, 3) - 4), "B": values([[1.0, 2, -1], [3, 0, 1]])}
    P = given["P"] = product(*given.values())
    L = given["L"] = (P * P).sum()
    L.backward()
    assert title in cells(draw_dot(L, names=given, level="array"))
    symbols = cells(draw_dot(L, names=given, level="array", edges="symbols"))
    assert [text for text in symbols if re.search(r" · .*\) \(", text)] == rules
    numbers = cells(draw_dot(L, names=given, level="array", edges="derivatives"))
    rows = [text for text in numbers if "] · [" in text]
    shares = [text.split("= [")[1].strip("]").replace(";", "") for text in rows]
    nodes = with_arrays(graph(L, names=given)).nodes
    assert {*shares} <= {" ".join(map(number, node.grad)) for node in nodes if node.shape}
    assert len(shares) == (len(rules) if P.ndim < 3 else 0)  # stacks of matrices have no room


def test_single_values_and_stacks_of_matrices_beside_arrays():
    v, x = Value(3.0), values([1.0, 2.0])
    shown = arrows(([v, v] * x).sum(), level="array", names={"v": v, "x": x})
    assert shown == [("v", "×"), ("x", "×"), ("×", "sum")]
    stack = values(np.ones((2, 2, 2)))
    for loss in ((v * x).sum(), (x @ stack).sum()):
        loss.backward()
        assert "×" in draw_dot(loss, level="array", edges="derivatives").source


def test_an_element_that_was_replaced_is_not_hidden():
    a, other = values([1.0, 2.0]), Value(5.0, label="other")
    b = a * 2.0
    b[0] = other * other
    assert arrows(b.sum(), names={"a": a, "b": b}, level="array") == [
        ("other", "2 operations b"), ("a", "2 operations b"), ("2 operations b", "sum"),
    ]  # fmt: skip


def test_an_array_as_root_and_graphs_without_arrays():
    a = values([1.0, 2.0])
    assert arrows(a * 2.0, names={"a": a}, level="array") == [("a", "×"), ("2", "×")]
    assert len(arrows(a * 2.0, names={})) == 4
    x = Value(1.0)
    assert "no arrays of Values in this graph" in draw_dot(x * x, level="array").source


# ---- what arrays remember


def test_arrays_are_freed_with_the_last_reference():
    gc.disable()
    try:
        A, W = values(np.ones((3, 2))), values(np.ones((2, 1)))
        product = A @ W
        loss = ((product - 1.0) ** 2).mean()
        watched = [
            weakref.ref(thing) for thing in (product, loss, origin(loss, "array")[1][0], A, A[0, 0])
        ]
        del product, loss
        assert [ref() is None for ref in watched] == [True, True, True, False, False]
        del A, W
        assert all(ref() is None for ref in watched)
    finally:
        gc.enable()


def test_a_reduction_of_one_element_makes_no_cycle():
    gc.disable()
    try:
        a = values([2.0]) * 3.0
        assert a.sum() is a[0] is np.sum(a)
        watched = weakref.ref(a)
        del a
        assert watched() is None
    finally:
        gc.enable()


def test_the_label_of_an_array_is_drawn():
    X, W = values([[1.0, 2.0], [0.5, -1.0]], label="X"), values([[3.0, 4.0]])
    W.label = "W"
    P = X @ W.T
    P.label = "P"
    loss = (P * P).sum()
    for given in ({}, {"A": X, "B": W, "C": P}):
        shown = names(loss, names=given, level="array")
        assert shown == ["X", "W", "T Wᵀ", "@ P", "×", "sum"]
        assert {"X[1][0]", "W[0][1]"} <= {*names(loss, names=given)}


def test_a_layer_of_a_batch_is_drawn_with_what_it_was_given():
    X, fc1 = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), Linear(3, 5)
    out = fc1(X)
    loss = (out**2).mean()
    text = mermaid(loss)
    assert all(name in text for name in ('"X<br>', "linear out", "mean loss"))
    assert arrows(loss, level="array", names={"X": X})[0] == ("X", "linear")


def test_a_graph_of_arrays_is_drawn_by_arrays():
    X, y, W = np.ones((3, 2)), np.zeros((3, 1)), values([[1.0], [2.0]])
    loss = ((X @ W - y) ** 2).mean()
    found = mermaid(loss)
    assert all(name in found for name in ('"X', '"W', '"y', "mean loss"))
    assert found.count("-->") == 6


def test_cross_entropy_and_softmax_are_single_boxes():
    X, W = np.arange(40.0).reshape(20, 2) / 40, values([[1.0, -1.0, 0.5], [0.0, 0.5, 1.0]])
    b, labels = values(np.zeros(3)), [k % 3 for k in range(20)]
    logits = X @ W + b
    loss = cross_entropy(logits, labels)
    assert arrows(loss, level="array", names=locals()) == [
        ("X", "@"), ("W", "@"), ("@", "+ logits"), ("b", "+ logits"),
        ("+ logits", "cross entropy loss"), ("labels", "cross entropy loss"),
    ]  # fmt: skip
    shares = (X @ W).softmax()
    assert arrows(shares, level="array", names={"X": X, "W": W})[-1] == ("@", "softmax")
    assert {"@", "logits", "cross entropy"} <= {*opened_boxes(explain(loss, level="array"))}


def opened_boxes(page):
    """The labels of the boxes of a page."""
    return re.findall(r'"label": ?"([^"]*)", ?"kind": ?"vector"', page.html)


def test_many_parameters_outside_arrays_are_one_card():
    model, X = MLP(2, [8, 3]), np.linspace(-1.0, 1.0, 40).reshape(20, 2)
    loss = cross_entropy(model(X), [i % 3 for i in range(20)])
    assert len(names(loss, level="array")) <= 8


def test_the_chain_rule_of_entries_adds_up_to_the_gradients():
    a, b = values([1.0, 2.0]), values([[3.0, 4.0], [5.0, 6.0]])
    loss = (a * b + 1.0).sum()
    loss.backward()
    text = " ".join(cells(draw_dot(loss, edges="derivatives", level="array")))
    assert "Σ [3 4; 5 6] ⊙ [1 1; 1 1] = [8; 10]" in text.replace("∑", "Σ")
    assert "[1 2; 1 2] ⊙ [1 1; 1 1] = [1 2; 1 2]" in text
    assert "⊙ multiplies entry by entry" in text
    assert "transposed" not in text
