"""The scripts that follow articles: they print the articles' numbers, and ours are the same."""

import html
import json
import re
import struct
from itertools import product

import numpy as np
import pytest
from demo_scripts import DEMOS, load, rows_of, run, striped_images
from sampling import thinned

SVG, PNG = b"<?xml", b"\x89PNG"


def pictures(folder):
    """The names of the pictures in a folder; each has the content that its ending promises."""
    for path in folder.iterdir():
        assert path.read_bytes().startswith(PNG if path.suffix == ".png" else SVG)
    return {path.name for path in folder.iterdir()}


def numbers(row):
    return tuple(float(text.rstrip("%")) for text in row)


# ---- as scripts


@pytest.mark.slow
def test_the_original_demo_prints_its_numbers(tmp_path):
    rows = rows_of(run(tmp_path, "original_demo"))
    assert len(rows) == 3 + 5 + 6
    assert all(article == here for article, here in rows.values())
    assert pictures(tmp_path) == {"example.svg", "moons.png", "relu_neuron.svg"}


def test_the_neuron_by_hand_has_the_lectures_numbers(tmp_path):
    out = run(tmp_path, "neuron_by_hand")
    rows = rows_of(out)
    differences = [float(here) for article, here in rows.values() if article == "-"]
    assert len(differences) == 2
    assert max(differences) < 1e-12
    assert len(rows) == 4 + 8 + 3
    assert all(article in ("-", here) for article, here in rows.values())
    assert "in this order: o n b total x2w2" in out
    assert pictures(tmp_path) == {"expression.svg", "neuron.svg"}


@pytest.mark.slow
def test_the_stages_have_one_size_and_the_articles_derivatives(tmp_path):
    rows = rows_of(run(tmp_path, "stages"))
    assert len(rows) == 6
    assert all(article in ("-", here) for article, here in rows.values())
    network = {f"network-{i}.svg" for i in range(3)}
    graph = {f"graph-{i}.svg" for i in range(4)}
    assert pictures(tmp_path) == network | graph
    for names in (network, graph):
        texts = [(tmp_path / name).read_text(encoding="utf-8") for name in names]
        assert len({re.search(r'viewBox="([^"]*)"', text)[1] for text in texts}) == 1


@pytest.mark.slow
def test_two_regressions_agree_with_the_exact_solution_and_with_pytorch(tmp_path):
    out = run(tmp_path, "two_regressions")
    rows = rows_of(out)
    assert len(rows) == (1 if "left out" in out else 3)
    assert all(float(here) < float(allowed) for allowed, here in rows.values())


VIEWS = {"forward.svg", "reverse.svg", "ops.svg", "neurons.svg", "layers.svg", "network.svg"}


@pytest.mark.slow
def test_from_graphs_to_digits(tmp_path):
    pytest.importorskip("sklearn")
    out = run(tmp_path, "graphs_to_digits", "--epochs", "1")
    rows = rows_of(out)
    published = [(article, here) for article, here in rows.values() if article != "-"]
    assert len(published) == 11
    assert all(article == here for article, here in published)
    formula = "largest difference from 2/N X^T (P - Y)"
    assert float(rows["Mini-batches of 64 points", formula][1]) < 1e-12
    assert rows["1,437 images", "parameters"] == ("-", "8970")
    assert [what for title, what in rows if title == "1,437 images"][1:] == [
        "epoch 1: test loss, accuracy"
    ]
    assert re.search(r"^f +63 +15 +32 +1$", out, re.M)
    assert pictures(tmp_path) == VIEWS | {"digits.png"}


@pytest.mark.slow
def test_graphs_to_digits_learns_mnist_files(tmp_path):
    for part, n in (("train", 600), ("t10k", 100)):
        X, y = striped_images(n, side=28)
        for name, array in (("images-idx3", X.reshape(n, 28, 28) * 255), ("labels-idx1", y)):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape)
            content = header + array.astype(np.uint8).tobytes()
            (tmp_path / f"{part}-{name}-ubyte").write_bytes(content)
    (tmp_path / "out").mkdir()
    options = ["--mnist", ".", "--epochs", "60", "--out-dir", "out"]
    rows = rows_of(run(tmp_path, "graphs_to_digits", *options))
    assert rows["600 images", "parameters"] == ("-", "55050")
    results = [(what, row) for (title, what), row in rows.items() if title == "600 images"][1:]
    assert [int(re.findall(r"\d+", what)[0]) for what, _ in results] == [1, 2, 3, 4, 5, 60]
    assert [article for _, (article, _) in results] == [
        "1.9998, 50.1%", "1.1895, 74.0%", "0.7130, 82.2%", "0.5427, 85.8%", "0.4625, 87.6%", "-",
    ]  # fmt: skip
    assert float(results[-1][1][1].split(", ")[1].rstrip("%")) > 50
    assert "digits.png" in pictures(tmp_path / "out")


@pytest.mark.slow
def test_the_static_graph_agrees_with_formulas_and_pytorch(tmp_path):
    rows = rows_of(run(tmp_path, "static_graph"))
    compared = {key: row for key, row in rows.items() if row[0] != "-"}
    assert len(compared) == 5 + 5 + 3 + 1 + 3 + 3
    assert all(reference == here for reference, here in compared.values())
    differences = [float(row[1]) for (_, what), row in rows.items() if "difference" in what]
    assert len(differences) == 5
    assert max(differences) < 1e-12
    assert pictures(tmp_path) == {"scalar.svg", "learned.png"}


def texts_of(path):
    """All texts of an SVG in order, with | around each; the factors of a product are three."""
    texts = re.findall(r"<text[^>]*>([^<]*)<", path.read_text(encoding="utf-8"))
    return html.unescape(f"|{'|'.join(texts)}|").replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.slow
def test_orders_and_cost(tmp_path):
    out = run(tmp_path, "orders_and_cost", "--largest", "4000")
    rows = rows_of(out)
    assert rows["Orders", "topological orders"] == ("3", "4")  # the essay lists three of them
    assert rows["Orders", "found by trying all 8! permutations"] == ("-", "4")
    gradients = {what: row for (title, what), row in rows.items() if title == "Gradients"}
    assert gradients.pop("dc/da by plain recursion") == ("-2", "-4")
    assert len(gradients) == 5
    assert all(by_hand == here for by_hand, here in gradients.values())
    slopes = [row for (title, _), row in rows.items() if title.startswith("Slope")]
    assert [reference for reference, _ in slopes] == ["1"] * 4
    assert [float(here) for _, here in slopes[2:]] == pytest.approx([1, 1], abs=0.2)  # memory
    assert "level 2: d e" in out.splitlines()
    drawn = texts_of(tmp_path / "orders.svg")
    assert drawn.count("|1| × |−3| = |−3|") == 2  # into a and b
    assert drawn.count("|grad|−3|") == 3  # of a, b and c
    frames = re.findall(r'subgraph \w+\["(.*)"\]', (tmp_path / "orders.mmd").read_text("utf-8"))
    assert [title.replace("#45;", "-") for title in frames] == [
        "Inputs", "Middle nodes", "Pre-loss nodes", "Loss",
    ]  # fmt: skip
    (tmp_path / "orders.mmd").unlink()
    assert pictures(tmp_path) == {"orders.svg", "cost.png"}


# ---- graphs to digits


@pytest.mark.parametrize("size", [64, 100, 640])  # 100 leaves a rest of 40
def test_gradients_of_mini_batches_are_those_of_the_formula(size):
    demo = load("graphs_to_digits")
    X, Y = demo.regression()
    assert (X.shape, Y.shape) == ((640, 2), (640, 1))
    steps = list(demo.batch_gradients(X, Y, size=size))
    assert len(steps) == -(-640 // size)
    for found, formula in steps:
        np.testing.assert_allclose(found["W"], formula, rtol=0, atol=1e-12)
        assert found["X"].shape == (len(found["P"]), 2)
    assert abs(steps[0][1]).max() > 0.1
    losses = [found["L"] for found, _ in steps]
    assert losses[-1] <= losses[0]


# ---- the static graph


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        ("softmax", {"z": (6, 3), "W": (3, 2), "b": (3,)}),
        ("sigmoid", {"z": (6, 1), "W": (1, 2), "b": (1,)}),
    ],
)
def test_gradients_of_cross_entropy_are_p_minus_y(function, shapes):
    engine, formula = getattr(load("static_graph"), function)()
    assert {name: array.shape for name, array in formula.items()} == shapes
    for name, expected in formula.items():
        np.testing.assert_allclose(engine[name], expected, rtol=0, atol=1e-12)
        assert np.all(expected != 0)


@pytest.mark.parametrize("loss_of", thinned(["compiled", "eager"], 2))
def test_weights_after_training_are_those_recorded(loss_of):
    demo = load("static_graph")
    model = demo.network()
    before = model.state_dict()
    losses = demo.train(model, getattr(demo, loss_of))
    assert (len(losses), len(before)) == (20, 71)
    assert losses[-1] < 0.3 * losses[0]
    assert model.state_dict() == pytest.approx(demo.recorded(), rel=0, abs=1e-12)
    assert before != pytest.approx(demo.recorded(), rel=0, abs=1e-2)


def weights_of_pytorch():
    """The weights after the same training in PyTorch, by name."""
    import torch

    demo = load("static_graph")
    model = demo.network()
    layers = torch.nn.Linear(demo.N_IN, demo.HIDDEN), torch.nn.ReLU(), torch.nn.Linear(10, 1)
    twin = torch.nn.Sequential(*layers).double()
    weights = model.state_dict()
    with torch.no_grad():
        for name, p in tensors(twin).items():
            p.fill_(weights[name])
    optimizer = torch.optim.SGD(twin.parameters(), lr=demo.LR)
    X, y = map(torch.tensor, demo.regression())
    for _, part in product(range(demo.EPOCHS), torch.arange(len(X)).split(demo.BATCH)):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(twin(X[part])[:, 0], y[part]).backward()
        optimizer.step()
    return {name: p.item() for name, p in tensors(twin).items()}


def tensors(twin):
    """Views of the single parameters of a PyTorch model, by their names in micrograd."""
    named = {}
    for i, linear in enumerate(twin[::2]):
        for j, (row, bias) in enumerate(zip(linear.weight, linear.bias, strict=True)):
            named |= {f"layers[{i}].neurons[{j}].w[{k}]": w for k, w in enumerate(row)}
            named[f"layers[{i}].neurons[{j}].b"] = bias
    return named


def test_the_record_is_what_pytorch_learns():
    pytest.importorskip("torch")
    assert load("static_graph").recorded() == pytest.approx(weights_of_pytorch(), rel=0, abs=1e-12)


if __name__ == "__main__":
    note = "PyTorch's weights, recorded by: PYTHONPATH=tests python tests/docs/test_articles.py"
    record = json.dumps({"source": note, "weights": weights_of_pytorch()}, indent=1)
    (DEMOS / "static_graph.json").write_text(record + "\n", encoding="utf-8")
