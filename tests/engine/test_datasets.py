import gzip
import math
import random
import statistics
import struct

import numpy as np
import pytest

from micrograd import datasets
from micrograd.datasets import blobs, circles, linear_regression, moons, read_csv, spirals

CLASSES = {moons: 2, circles: 2, spirals: 2, blobs: 3}


# ---- 1. Classes in the plane


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("n", [7, 100])
def test_points_are_lists_of_two_floats_and_classes_as_equal_as_can_be(make, n):
    points, labels = make(n)
    assert len(points) == len(labels) == n
    assert all(type(point) is list and [type(x) for x in point] == [float] * 2 for point in points)
    sizes = [labels.count(k) for k in range(CLASSES[make])]
    assert sum(sizes) == n
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("make", [*CLASSES, linear_regression])
def test_points_depend_on_the_seed_and_leave_the_global_state_alone(make):
    random.seed(5)
    before = random.getstate()
    assert make(30, seed=1) == make(30, seed=1)
    assert make(30, seed=1) != make(30, seed=2)
    assert random.getstate() == before


@pytest.mark.parametrize("make", CLASSES)
def test_noise_is_the_standard_deviation_of_the_displacements(make):
    still, labels = make(2000, noise=0.0)
    moved, same_labels = make(2000, noise=0.5)
    assert labels == same_labels
    for i in range(2):
        way = [after[i] - before[i] for before, after in zip(still, moved, strict=True)]
        assert statistics.fmean(way) == pytest.approx(0.0, abs=0.05)
        assert statistics.pstdev(way) == pytest.approx(0.5, rel=0.05)


@pytest.mark.slow
def test_moons_and_circles_are_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets")
    for ours, theirs in (
        (moons(40, noise=0.0), datasets.make_moons(40)),
        (circles(40, noise=0.0, factor=0.3), datasets.make_circles(40, factor=0.3)),
    ):
        examples, expected = (
            {(*(round(float(x), 9) + 0.0 for x in X[i]), int(y[i])) for i in range(40)}
            for X, y in (ours, theirs)
        )
        assert examples == expected


@pytest.mark.parametrize(("classes", "turns"), [(2, 1.0), (3, 0.5), (5, 2.0)])
def test_spirals_wind_evenly_around_each_other(classes, turns):
    for (x1, x2), label in zip(*spirals(100, 0.0, 0, classes, turns), strict=True):
        radius = math.hypot(x1, x2)
        assert 0.1 - 1e-12 <= radius <= 1 + 1e-12
        angle = 2 * math.pi * (turns * (radius - 0.1) / 0.9 + label / classes)
        assert (x1, x2) == pytest.approx((radius * math.cos(angle), radius * math.sin(angle)))


def test_blobs_are_centred_on_a_circle():
    points, labels = blobs(40, noise=0.0, classes=4)
    centres = dict(zip(labels, points, strict=True))
    assert [centres[k] for k in range(4)] == [
        pytest.approx(centre, abs=1e-12) for centre in ([1, 0], [0, 1], [-1, 0], [0, -1])
    ]


# ---- 2. Regression


def test_linear_regression_is_a_line_with_noise():
    weights = [1.0, -2.0, 0.5]
    points, targets = linear_regression(2000, weights, bias=3.0, noise=0.25, seed=4)
    rests = [
        target - 3.0 - sum(w * x for w, x in zip(weights, point, strict=True))
        for point, target in zip(points, targets, strict=True)
    ]
    assert statistics.fmean(rests) == pytest.approx(0.0, abs=0.03)
    assert statistics.pstdev(rests) == pytest.approx(0.25, rel=0.05)
    coordinates = [x for point in points for x in point]
    assert statistics.fmean(coordinates) == pytest.approx(0.0, abs=0.05)
    assert statistics.pstdev(coordinates) == pytest.approx(1.0, rel=0.05)


# ---- 4. Files


@pytest.fixture
def read(tmp_path):
    def read_bytes(content):
        path = tmp_path / "points.csv"
        path.write_bytes(content.encode())
        return read_csv(path)

    return read_bytes


POINTS = ([[1.0, 2.0], [-0.5, 1000.0]], [1, 0])


@pytest.mark.parametrize(
    "content",
    [
        "1,2,red\n-0.5,1e3,blue\n",
        "x1,x2,label\n1,2,red\n-0.5,1e3,blue",
        "\ufeffx1,x2,label\r\n1,2,red\r\n-0.5,1e3,blue\r\n",
        "\ufeff1,2,red\r-0.5,1e3,blue\r",
        "\n  \n1,2,red\n\n\n-0.5,1e3,blue\n\n",
        '"x, first","x, second",colour\n 1 ,2,red\n-0.5,1e3, blue \n',
        '"1","2","red"\n"-0.5","1e3","blue"\n',
        '1, 2, "red"\n -0.5, "1e3", "blue"\n',
        "# x1,x2,label\n1,2,red\n-0.5,1e3,blue\n",
    ],
)
def test_headers_blank_lines_line_ends_marks_and_quotes_make_no_difference(read, content):
    assert read(content) == (*POINTS, ["blue", "red"])


@pytest.mark.parametrize(
    ("labels", "indices", "names"),
    [
        (["0", "1", "0"], [0, 1, 0], ["0", "1"]),
        (["1", "-1", "1"], [1, 0, 1], ["-1", "1"]),
        (["10", "9", "9.50"], [2, 0, 1], ["9", "9.5", "10"]),
        (["1", "1.0", "2"], [0, 0, 1], ["1", "2"]),
        (["10", "9", "none"], [0, 1, 2], ["10", "9", "none"]),
        (["ü, é", "a b", "ü, é"], [1, 0, 1], ["a b", "ü, é"]),
    ],
)
def test_labels_become_indices_in_the_order_of_numbers_or_the_alphabet(
    read, labels, indices, names
):
    content = "".join(f'1,2,"{label}"\n' for label in labels)
    assert read(content)[1:] == (indices, names)


@pytest.mark.parametrize("header", ["", "a,b,c,kind\n"])
def test_files_of_other_numbers_of_columns_have_the_label_last(read, header):
    expected = ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, 0], ["u", "v"])
    assert read(header + "1,2,3,v\n4,5,6,u\n") == expected
    assert read("1,v\n4,u\n") == ([[1.0], [4.0]], [1, 0], ["u", "v"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2,a\n1,2\n", "line 2: expected x1,x2,label, got '1,2'"),
        ("1;2;a\n3;4;b\n", "line 2: expected 1;2;a, got '3;4;b'"),
        ("x1,x2,label\n1,two,a\n", "line 2: .*'1,two,a'; only label may be text"),
        ("1,2,a\nx1,x2,label\n", "line 2"),
        ("1,2,a\nnan,2,b\n", "line 2"),
        ("1,-inf,a\n1,2,b\n", "line 1"),
        ("nan,nan,a\n1,2,b\n3,4,a\n", "line 1: .*'nan,nan,a'"),
        ("", r"at least two classes, got \[\]"),
        ("1,2,a\n3,4,a\n", r"at least two classes, got \['a'\]"),
    ],
)
def test_bad_files_are_refused_with_the_line(read, content, message):
    with pytest.raises(ValueError, match=r"points\.csv.*" + message):
        read(content)


def test_batches_hold_every_example_once():
    X, y = datasets.moons(10)
    found = list(datasets.batches(X, y, size=4, seed=1))
    assert [len(part) for part, _ in found] == [4, 4, 2]
    pairs = [pair for part in found for pair in zip(*part, strict=True)]
    assert sorted(pairs) == sorted(zip(X, y, strict=True))
    assert pairs != list(zip(X, y, strict=True))
    assert list(datasets.batches(X, y, size=4, seed=1)) == found
    assert list(datasets.batches(X, y, size=4, seed=2)) != found
    arrays = list(datasets.batches(np.array(X), np.array(y), size=4, seed=1))
    assert all(type(part) is np.ndarray for pair in arrays for part in pair)
    assert [part.tolist() for part, _ in arrays] == [part for part, _ in found]


@pytest.mark.parametrize(("X", "y", "size"), [([1], [1, 2], 1), ([], [], 1), ([1], [1], 0)])
def test_batches_that_cannot_be_made(X, y, size):
    with pytest.raises(ValueError, match="batches expects"):
        datasets.batches(X, y, size)


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize("kind", ["idx", "dotted.gz"])
def test_mnist_is_read_from_its_files(tmp_path, kind):
    rng = np.random.default_rng(0)
    arrays = {
        "train": (rng.integers(0, 256, (6, 28, 28)), rng.integers(0, 10, 6)),
        "t10k": (rng.integers(0, 256, (3, 28, 28)), rng.integers(0, 10, 3)),
    }
    for part, (images, labels) in arrays.items():
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            file = f"{part}-{name}-ubyte"
            if kind == "idx":
                (tmp_path / file).write_bytes(idx(array))
            else:
                file = file.replace("-idx", ".idx") + ".gz"
                (tmp_path / file).write_bytes(gzip.compress(idx(array)))
    for (X, y), (images, labels) in zip(datasets.mnist(tmp_path), arrays.values(), strict=True):
        assert np.allclose(X, images.reshape(len(images), 784) / 255)
        assert y.tolist() == labels.tolist()


def test_files_that_are_not_mnist(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no train-images-idx3-ubyte in"):
        datasets.mnist(tmp_path)


@pytest.mark.slow
def test_drawn_digits_differ_from_each_other_more_than_from_themselves():
    X, y = datasets.drawn_digits(300)
    assert (X, y) == datasets.drawn_digits(300)
    assert [y.count(k) for k in range(10)] == [30] * 10
    assert {len(x) for x in X} == {64}
    assert all(0 <= pixel <= 1 for x in X for pixel in x)
    clean, labels = datasets.drawn_digits(300, noise=0.0)
    of = {tuple(x): k for x, k in zip(clean, labels, strict=True)}
    assert all(of[tuple(x)] == k for x, k in zip(clean, labels, strict=True))


@pytest.mark.slow
def test_digits_are_those_of_scikit_learn():
    X, y = datasets.digits()
    assert X.shape == (1797, 64)
    assert (X.min(), X.max(), set(y.tolist())) == (0.0, 1.0, set(range(10)))
