"""Data of one's own: tables of other libraries, and labels and rows that need mending."""

import warnings

import numpy as np
import pytest
from blocks import python
from sampling import thinned
from wrong_engines import WRONG

from micrograd import Value, compile, fit, playground
from micrograd.arrays import values
from micrograd.datasets import batches
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy, hinge, squared_error
from micrograd.nn import MLP, Activation, Layer, Linear, Neuron, Sequential, accuracy
from micrograd.optim import SGD
from micrograd.plot import decision_boundary

X = np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 3.0], [-2.0, 0.5], [0.5, 0.0]])


class Table:
    """Like a pandas object: it has an array, but it iterates over labels and is indexed by them."""

    def __init__(self, array):
        self.array, self.names = np.asarray(array), "vwxyz"

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype)

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return iter(range(7, 7 + len(self.array)))

    def __getitem__(self, label):
        return self.array[::-1][label]


def matrix(array):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(array)


def tensor(array):
    return pytest.importorskip("torch").tensor(array)


TABLES = pytest.mark.parametrize("table", [Table, tensor])


# ---- tables of other libraries


@pytest.mark.parametrize("table", [Table, tensor, matrix])
@pytest.mark.parametrize(
    "model",
    [
        Neuron(2),
        Layer(2, 3),
        MLP(2, [4, 1]),
        Linear(2, 3),
        Activation("tanh"),
        Sequential(Linear(2, 3), Activation("relu"), Linear(3, 1)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_takes_a_table_as_its_array(table, model):
    found, expected = model(table(X)), model(X)
    assert found.shape == expected.shape
    assert found.data.tolist() == expected.data.tolist()


@pytest.mark.parametrize("table", [Table, tensor])
def test_a_table_of_one_column_and_an_entry_without_axes(table):
    model = MLP(1, [4, 1])
    assert model(table(X[:, :1])).shape == (5, 1)
    assert model(np.array(2.0)).data == model([2.0]).data
    assert model(table(np.array([2.0]))).data == model([2.0]).data


@TABLES
@pytest.mark.parametrize("wrap", [lambda loss: loss, lambda loss: compile(loss, executor="numpy")])
def test_fit_pairs_examples_and_targets_by_position(table, wrap):
    w = Value(0.0)
    x = np.array([3.0, 1.0, 2.0])
    for inputs, targets in ((table(x), table(10 * x)), (x, table(10 * x)), (table(x), 10 * x)):
        w.data = 0.0
        fit(wrap(lambda x, y: (w * x - y) ** 2), inputs, targets, SGD([w], lr=0.1), steps=50)
        assert w.data == pytest.approx(10.0)


@TABLES
def test_batches_go_by_position(table):
    y = np.arange(5)
    found = list(batches(table(X), table(y), size=2, seed=3))
    for (points, labels), (points_, labels_) in zip(found, batches(X, y, 2, seed=3), strict=True):
        assert points.tolist() == points_.tolist()
        assert labels.tolist() == labels_.tolist()


@TABLES
def test_losses_take_tables(table):
    scores, signs = X[:, 0], np.array([1, -1, 1, 1, -1])
    cases = [(squared_error, scores, X[:, 1]), (hinge, scores, signs)]
    cases += [
        (binary_cross_entropy_with_logits, scores, signs > 0),
        (cross_entropy, X, 1 * (signs > 0)),
    ]
    for loss, given, targets in cases:
        expected = loss(given, targets).item()
        assert loss(table(given), table(targets)).item() == expected
        assert loss(values(given), table(targets[:, None] if loss is squared_error else targets)
                    ).item() == pytest.approx(expected)  # fmt: skip


@TABLES
def test_scores_and_labels_in_tables(table):
    labels = np.array([1, 0, 1, 1, 0])
    assert accuracy(table(X), table(labels)) == accuracy(X, labels) == 1.0
    assert accuracy(table(X[:, 1]), table(labels)) == accuracy(X[:, 1], labels)


@TABLES
def test_pictures_and_pages_take_tables(table):
    labels = [0, 1, 0, 1, 1]
    page = playground(X=table(X), y=table(labels))
    assert page.html == playground(X=X, y=labels).html
    decision_boundary(MLP(2, [1]), table(X), table(labels))


ALONE = {  # programs that run where only Python is installed
    "models and losses": """
from micrograd import datasets, losses, nn
losses.squared_error(nn.MLP(2, [2, 1])([1.0, 2.0]), 1.0)
losses.hinge([nn.Neuron(2)([1.0, 2.0])], [1])
nn.accuracy([[0.0, 1.0]], [1]), datasets.batches(*datasets.moons(10), size=5)
""",
    "drawings": """
from micrograd import MLP, Value, draw_dot, draw_network, explain, mermaid
model, x = MLP(2, [3, 1]), [Value(1.0), Value(2.0)]
loss = (model(x) - 1.0) ** 2
loss.backward()
for level in ("op", "neuron", "layer", "array"):
    draw_dot(loss, names=globals(), level=level, highlight=x, done=loss, parameters=x).pipe()
draw_dot(loss, edges="derivatives")._repr_mimebundle_()
draw_network(model, x).pipe()
assert mermaid(loss).startswith("flowchart")
""",
    "pages": """
from micrograd import MLP, explain, playground
assert "<!doctype html>" in explain(MLP(2, [4, 1])([1.0, 2.0])).html
assert len(playground(MLP(2, [3, 1]), [[0, 1], [1, 0]], [0, 1]).html) > 10_000
""",
    "grades": f"""
{WRONG}
from micrograd.grade import grade
assert grade(Value).mistakes[0][0].rule.startswith("Gradients must add up")
""",
}


@pytest.mark.parametrize("program", thinned(ALONE.values(), len(ALONE)))
def test_what_needs_neither_numpy_nor_matplotlib_nor_tqdm(program, tmp_path):
    hidden = "import sys\nfor name in ('numpy', 'matplotlib', 'tqdm', 'PIL'):\n"
    (tmp_path / "alone.py").write_text(f"{hidden}    sys.modules[name] = None\n{program}", "utf-8")
    python(tmp_path / "alone.py")


# ---- labels and rows that need mending

TEXT = r"names = sorted\(set\(y\)\); y = \[names\.index\(label\) for label in y\]"
COLUMN, FROM_ONE = r"pass y\.ravel\(\)", "count from 1, pass y - 1"
NAN_LABEL = r"keep = np\.isfinite\(y\); X, y = X\[keep\], y\[keep\]"
NAN_ROW = r"keep = np\.isfinite\(X\)\.all\(axis=1\); X, y = X\[keep\], y\[keep\]"
CLASSES = np.array([3, 1, 2, 1, 2])
LABELS = [
    (["b", "a", "b", "a", "a"], TEXT),
    (np.array(["b", "a", "b", "a", "a"]), TEXT),
    (CLASSES, FROM_ONE),
    ([float("nan"), 1.0, 1.0, 1.0, 1.0], NAN_LABEL),
]


def trained(loss, y, outputs, wrap=lambda loss: loss, X=X):
    model = MLP(2, [outputs])
    step = wrap(lambda x, y: loss(model(x), y))
    return fit(step, X, y, SGD(model.parameters(), lr=0.1), steps=1)


def compiled(loss):
    return compile(loss, executor="numpy")


ENTRIES = {
    "hinge": lambda y: hinge(values(X[:, 0]), y),
    "binary_cross_entropy_with_logits": lambda y: binary_cross_entropy_with_logits(
        X[:, 0].tolist(), y
    ),
    "cross_entropy": lambda y: cross_entropy(values(np.ones((5, 3))), y),
    "fit": lambda y: trained(cross_entropy, y, 3),
    "fit compiled": lambda y: trained(cross_entropy, y, 3, compiled),
    "playground": lambda y: playground(X=X, y=y),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(("y", "line"), LABELS, ids=["text", "text array", "from 1", "NaN"])
def test_a_message_about_labels_gives_the_line_that_mends_them(entry, y, line):
    with pytest.raises((TypeError, ValueError, IndexError), match=line):
        ENTRIES[entry](y)


@pytest.mark.parametrize(
    ("y", "line"),
    [LABELS[0], (CLASSES, "labels from 0.* pass y - 1"), LABELS[3], (X[:, :1], COLUMN)],
)
def test_a_picture_gives_the_line_that_mends_labels(y, line):
    with pytest.raises(ValueError, match=line):
        decision_boundary(MLP(2, [3]), X, y)
    names = ["1", "2", "3"]
    decision_boundary(lambda X: np.ones((len(X), 3)), X, CLASSES - 1, names=names)


@pytest.mark.parametrize(
    "entry",
    [
        lambda y: trained(lambda p, t: (p - t) ** 2, y, 1),
        lambda y: trained(lambda p, t: (p - t) ** 2, y.tolist(), 1),
        lambda y: trained(cross_entropy, y, 3),
        lambda y: trained(cross_entropy, y, 3, compiled),
        lambda y: cross_entropy(np.ones((5, 3)), y),
    ],
)
def test_labels_of_shape_n_1_are_named(entry):
    with pytest.raises((TypeError, ValueError), match=COLUMN):
        entry(np.ones((5, 1), dtype=int))


def test_a_loss_of_several_numbers_is_named():
    with pytest.raises(TypeError, match=r"got shape \(2,\): return one number, such as its sum"):
        trained(lambda p, t: values([1.0, 2.0]) * p, np.ones(5), 1)


HOLES = np.where(X == 3.0, np.nan, X)


@pytest.mark.parametrize("wrap", [lambda loss: loss, compiled])
@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.tolist(), Table])
def test_fit_names_rows_with_nan(wrap, make):
    with pytest.raises(ValueError, match=f"X has NaN: .*{NAN_ROW}"):
        trained(squared_error, np.ones(5), 1, wrap, make(HOLES))
    with pytest.raises(ValueError, match=f"y has NaN: .*{NAN_LABEL}"):
        trained(squared_error, make(HOLES[:, 1]), 1, wrap)


@pytest.mark.parametrize(
    "entry",
    [
        lambda: playground(X=HOLES, y=[0, 1, 0, 1, 1]),
        lambda: decision_boundary(MLP(2, [1]), HOLES, [0, 1, 0, 1, 1]),
    ],
)
def test_rows_with_nan_come_with_the_line_that_leaves_them_out(entry):
    with pytest.raises(ValueError, match=NAN_ROW):
        entry()


def test_the_lines_in_the_messages_mend_the_data():
    found = {"X": HOLES, "y": np.array(LABELS[0][0]), "np": np}
    exec("keep = np.isfinite(X).all(axis=1); X, y = X[keep], y[keep]", found)
    exec("names = sorted(set(y)); y = [names.index(label) for label in y]", found)
    assert found["y"] == [1, 0, 0, 0]
    assert len(trained(hinge, [1, -1, 1, 1], 1, X=found["X"])) == 1
