"""Graphs of arrays: one box for each array instead of one node for each element."""

import gc
import re
import weakref

import numpy as np
import pytest

from micrograd import Value, draw_dot, no_grad, values
from micrograd.draw.formulas import number
from micrograd.draw.graph import at_level, graph
from micrograd.nn import MLP


def regression():
    """By name: the arrays of a linear regression on 64 points, and its loss after backward()."""
    rng = np.random.default_rng(0)
    X, W = values(rng.normal(size=(64, 2))), values(rng.normal(size=(2, 1)))
    y = values(rng.normal(size=(64, 1)))
    P = X @ W
    L = ((P - y) ** 2).mean()
    L.backward()
    return {"X": X, "W": W, "y": y, "P": P, "L": L}


def boxes(*roots, names=None, **options):
    return at_level(graph(*roots, names=names, **options), "array").nodes


def cells(dot):
    """The texts of the cells of all cards."""
    found = re.split("</TD>|label=<", dot.source.replace("&#160;", " ").replace("\xa0", " "))
    return [re.sub("<.*?>", "", text).strip() for text in found]


def rows(nodes):
    """What each node shows: its label, operation, the labels of its operands, and its shape."""
    label = {n.name: n.label or n.name for n in nodes}
    return [(label[n.name], n.op, *(label[o] for o in n.operands), n.shape) for n in nodes]


def test_a_regression_has_a_box_for_each_array():
    names = regression()
    assert len(graph(names["L"]).nodes) > 500
    assert rows(boxes(names["L"], names=names)) == [
        ("X", "", (64, 2)),
        ("W", "", (2, 1)),
        ("P", "@", "X", "W", (64, 1)),
        ("y", "", (64, 1)),
        ("a5", "-", "P", "y", (64, 1)),
        ("a4", "**2", "a5", (64, 1)),
        ("L", "mean", "a4", ()),
    ]


def test_cards_show_shapes_of_data_and_gradients():
    names = regression()
    source = draw_dot(names["L"], names=names, level="array", parameters=names["W"]).source
    assert re.findall(r">(\(\d+ × \d+\))<", source).count("(64 × 2)") == 2
    kinds = {n.label: n.kind for n in boxes(names["L"], names=names, parameters=[names["W"]])}
    assert (kinds["X"], kinds["W"], kinds["L"]) == ("input", "parameter", "result")
    before = ((names["X"] @ names["W"] - names["y"]) ** 2).mean()
    for v in (names["X"], names["W"], names["y"]):
        v.zero_grad()
    dot = draw_dot(before, names=names, level="array")
    assert re.findall(r">(\(\d+ × \d+\))<", dot.source).count("(64 × 2)") == 1
    assert "no gradients yet: call backward()" in dot.source


def test_a_large_graph_of_arrays_is_drawn_by_arrays():
    names = regression()
    dot = draw_dot(names["L"], names=names)
    assert "drawn array by array: level=" in dot.source
    assert dot.source.count("[label=<") < 10
    assert draw_dot(names["L"], names=names, level="op").source.count("[label=<") > 500


def test_plain_numbers_and_plain_arrays_are_constants():
    X, W = np.ones((4, 2)), values(np.ones(2))
    loss = (2 * (X @ W)).sum()
    found = boxes(loss, names={"X": X, "W": W})
    assert [(n.label, n.kind) for n in found if n.kind == "constant"] == [
        ("", "constant"),
        ("X", "constant"),
    ]
    product = next(n for n in found if n.op == "*")
    assert [n.kind for n in found if n.name in product.operands] == ["constant", "operation"]


def test_operations_have_the_signs_of_values():
    a, b = values([1.0, 2.0]), values([3.0, 4.0])
    for result, op in (
        (a + b, "+"), (a - b, "-"), (a * b, "*"), (a / b, "/"), (-a, "neg"), (abs(a), "abs"),
        (a**3, "**3"), (a.relu(), "ReLU"), (a.tanh(), "tanh"), (a.exp(), "exp"),
        (np.maximum(a, b), "maximum"), (np.cumsum(a), "cumsum"),
        (np.concatenate([a, b]) * 1.0, "*"),
    ):  # fmt: skip
        assert boxes(result, names={"a": a, "b": b})[-1].op == op


@pytest.mark.parametrize(
    ("reduction", "op"),
    [
        (lambda a: a.sum(), "sum"), (lambda a: np.sum(a), "sum"), (lambda a: a.mean(), "mean"),
        (lambda a: np.mean(a), "mean"), (lambda a: a.max(), "max"), (lambda a: np.prod(a), "prod"),
        (lambda a: a @ a, "@"), (lambda a: np.dot(a, a), "dot"),
    ],
)  # fmt: skip
def test_reductions(reduction, op):
    a = values([1.0, 2.0, 3.0])
    leaf, result = boxes(reduction(a), names={"a": a})
    assert (leaf.label, leaf.shape) == ("a", (3,))
    assert (result.op, set(result.operands)) == (op, {leaf.name})


def test_a_view_has_a_box_behind_that_of_its_array():
    A = values([[1.0, 2.0], [3.0, 4.0]])
    leaf, turned, column, product, total = boxes((A.T @ A[:, 0]).sum(), names={"A": A})
    assert (product.op, product.operands) == ("@", (turned.name, column.name))
    assert turned.operands == column.operands == (leaf.name,)
    assert (turned.data, column.data) == ((1.0, 3.0, 2.0, 4.0), (1.0, 3.0))
    assert total.operands == (product.name,)
    # an array that was computed, and one that leads to the result only in part
    for root, ops in (
        ((A * 2.0).reshape(4)[1:] * 3.0, ["*", "[ ]", "*"]),
        (np.concatenate([A * 2.0, A[:1] * 5.0]) * 3.0, ["*", "[ ]", "*", "concatenate", "*"]),
    ):
        assert [n.op for n in boxes(root, names={"A": A}) if n.op] == ops
    leaf, part, _ = boxes(A[0] * A[0], names={"A": A})
    assert (leaf.data, part.label, part.data) == ((1.0, 2.0, 3.0, 4.0), "A[0]", (1.0, 2.0))


PRODUCTS = [  # of a 3 x 3 matrix A and a 2 x 3 matrix B
    (lambda A, B: A @ B.T, "Bᵀ", "∂L/∂P · B   (3 × 2) (2 × 3)", "Aᵀ · ∂L/∂P   (3 × 3) (3 × 2)"),
    (lambda A, B: A[1:, :2] @ B, "A[1:, :2]", "∂L/∂P · Bᵀ   (2 × 3) (3 × 2)",
     "A[1:, :2]ᵀ · ∂L/∂P   (2 × 2) (2 × 3)"),
    (lambda A, B: B.reshape(3, 2) @ A[1:], "B.reshape(3, 2)", "∂L/∂P · A[1:]ᵀ   (3 × 3) (3 × 2)",
     "B.reshape(3, 2)ᵀ · ∂L/∂P   (2 × 3) (3 × 3)"),
    (lambda A, B: A[::2] @ B.T, "A[…]", "∂L/∂P · B   (2 × 2) (2 × 3)",
     "A[…]ᵀ · ∂L/∂P   (3 × 2) (2 × 2)"),
    (lambda A, B: B[0] @ A, "B[0]", "∂L/∂P · Aᵀ   (1 × 3) (3 × 3)",
     "B[0]ᵀ · ∂L/∂P   (3 × 1) (1 × 3)"),
    (lambda A, B: A @ B[:1].reshape(3), "B[0]", "∂L/∂P · B[0]ᵀ   (3 × 1) (1 × 3)",
     "Aᵀ · ∂L/∂P   (3 × 3) (3 × 1)"),
    (lambda A, B: np.concatenate([A[:1], B]) @ np.ones(3), "concatenate",
     "∂L/∂P · c1ᵀ   (3 × 1) (1 × 3)"),
    (lambda A, B: [[1.0, 2.0]] @ B, "B", "c0ᵀ · ∂L/∂P   (2 × 1) (1 × 3)"),
    (lambda A, B: A.reshape(3, 1, 3) @ B.T, "Bᵀ", "∂L/∂P · B   (3 × 1 × 2) (2 × 3)",
     "∑ A.reshape(3, 1, 3)ᵀ · ∂L/∂P   (3 × 3 × 1) (3 × 1 × 2)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("product", "title", "rules"), [(f, t, rules) for f, t, *rules in PRODUCTS]
)
def test_a_product_shows_its_factors_as_they_were_multiplied(product, title, rules):
    names = {"A": values(np.arange(9.0).reshape(3, 3) - 4), "B": values([[1.0, 2, -1], [3, 0, 1]])}
    P = names["P"] = product(*names.values())
    L = names["L"] = (P * P).sum()
    L.backward()
    assert title in cells(draw_dot(L, names=names, level="array"))
    symbols = cells(draw_dot(L, names=names, level="array", edges="symbols"))
    assert [text for text in symbols if re.search(r" · .*\) \(", text)] == rules
    numbers = cells(draw_dot(L, names=names, level="array", edges="derivatives"))
    shares = [text.split("= [")[1].strip("]").replace(";", "") for text in numbers if "= [" in text]
    grads = [" ".join(map(number, n.grad)) for n in boxes(L, names=names) if n.shape]
    assert {*shares} <= {*grads}
    assert len(shares) == (len(rules) if P.ndim < 3 else 0)  # stacks of matrices have no room


def test_an_element_that_was_replaced_is_not_hidden():
    a, other = values([1.0, 2.0]), Value(5.0, label="other")
    b = a * 2.0
    b[0] = other * other
    box = boxes(b.sum(), names={"a": a, "b": b})[-2]
    assert (box.label, box.op, len(box.operands)) == ("b", "2 operations", 2)


def test_a_batch_through_a_model_has_a_box_for_its_parameters():
    model = MLP(2, [3, 1])
    out = model(np.ones((5, 2)))
    found = boxes(((out - 1.0) ** 2).mean(), names={"out": out, "model": model})
    rest = [n for n in found if n.level == "call"]
    assert sorted(n.label for n in rest) == ["10 inputs", "13 parameters"]
    box = next(n for n in found if n.label == "out")
    assert box.op.endswith(" operations")
    assert set(box.operands) == {n.name for n in rest}


def test_values_between_arrays_keep_their_nodes():
    a = values([1.0, 2.0])
    s = a.sum()
    t = s * 3.0
    found = boxes((a * t).sum(), names={"a": a, "s": s, "t": t})
    assert [(n.label, n.op) for n in found if n.label] == [("a", ""), ("s", "sum"), ("t", "*")]
    product = found[-2]
    assert product.level == "array"
    assert [n.label for n in found if n.name in product.operands] == ["a", "t"]


def test_an_array_as_root_and_graphs_without_arrays():
    a = values([1.0, 2.0])
    leaf, two, result = boxes(a * 2.0, names={"a": a})
    assert (result.kind, result.operands, result.shape) == ("result", (leaf.name, two.name), (2,))
    assert draw_dot(a * 2.0).source.count("->") == 4
    assert draw_dot(a * 2.0, level="array").source.count("->") == 2
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
            weakref.ref(thing) for thing in (product, loss, loss._made_from[1][0], A, A[0, 0])
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


def test_under_no_grad_a_result_keeps_no_operand_alive():
    gc.disable()
    try:
        with no_grad():
            a = values([1.0, 2.0])
            b, s = a * 2.0, a.sum()
        watched = weakref.ref(a)
        del a
        assert watched() is None
        assert (b[0].data, s.data) == (2.0, 3.0)
    finally:
        gc.enable()


def test_the_chain_rule_of_a_matrix_product_in_letters():
    X, W = values([[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]), values([[0.5], [-0.25]])
    y, b = values([[1.0], [0.0], [2.0]]), values([0.5])
    P = X @ W
    L = ((P + b - y) ** 2).mean()
    L.backward()
    text = draw_dot(L, names=locals(), level="array", edges="symbols").source
    for piece in ("∂L/∂P", "Wᵀ", "Xᵀ", "(2 × 3)\xa0(3 × 1)", "∑", "⊙"):
        assert piece in text.replace("&#160;", "\xa0")
    numbers = draw_dot(L, names=locals(), level="array", edges="derivatives").source
    found = [f"{x:.4g}".replace("-", "\N{MINUS SIGN}") for x in W.grad.ravel()]
    assert f"[{'; '.join(found)}]" in numbers.replace("\xa0", " ").replace("&#160;", " ")
    # what the letters say
    assert np.allclose(W.grad.astype(float), X.data.T.astype(float) @ P.grad.astype(float))
    assert np.allclose(X.grad.astype(float), P.grad.astype(float) @ W.data.T.astype(float))
    assert np.allclose(b.grad.astype(float), P.grad.astype(float).sum())


def test_the_label_of_an_array_is_drawn():
    X, W = values([[1.0, 2.0], [0.5, -1.0]], label="X"), values([[3.0, 4.0]])
    W.label = "W"
    P = X @ W.T
    P.label = "P"
    loss = (P * P).sum()
    for names in ({}, {"A": X, "B": W, "C": P}):
        labels = [n.label for n in boxes(loss, names=names)]
        assert labels == ["X", "W", "Wᵀ", "P", "", ""]
        assert {"X[1][0]", "W[0][1]", "P[0][0]"} <= {
            n.label for n in graph(loss, names=names).nodes
        }
