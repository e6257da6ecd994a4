"""Values of other engines, written as their authors and learners write them, are drawn as ours."""

import re

import pytest
from own_classes import Recorded
from pictures import arrows, names, picture
from right_engines import ENGINES
from sampling import thinned
from wrong_engines import RIGHT, class_of, edited

from micrograd import draw_dot, explain
from micrograd.draw.tokens import LIGHT
from micrograd.grade.graded_class import ALIASES


class Original:
    """As in the first micrograd: operands in a set, a gradient through closures."""

    def __init__(self, data, _children=(), _op=""):
        self.data, self.grad = data, 0
        self._backward = lambda: None
        self._prev, self._op = set(_children), _op

    def result(self, data, others, op, *slopes):
        operands = (self, *others)
        out = type(self)(data, operands, op)

        def _backward():
            for operand, slope in zip(operands, slopes, strict=True):
                operand.grad += slope * out.grad

        out._backward = _backward
        return out

    def __add__(self, other):
        other = other if isinstance(other, Original) else Original(other)
        return self.result(self.data + other.data, (other,), "+", 1, 1)

    def __sub__(self, other):
        return self.result(self.data - other.data, (other,), "-", 1, -1)

    def __mul__(self, other):
        return self.result(self.data * other.data, (other,), "*", other.data, self.data)

    def __pow__(self, n):
        return self.result(self.data**n, (), f"**{n}", n * self.data ** (n - 1))

    def relu(self):
        return self.result(max(0, self.data), (), "ReLU", float(self.data > 0))

    def cube(self):
        return self.result(self.data**3, (), "cube", 3 * self.data**2)


class Silent:
    """Tells its operands and operations, and nothing about derivatives."""

    def __init__(self, data, _prev=(), _op=""):
        self.data, self.grad, self._prev, self._op = data, None, _prev, _op


def rules_in(picture):
    """The ops of a drawing's cards with the numbers beside their operands."""
    found = re.findall(f'COLOR="{LIGHT["local"]}">([^<]+)<', picture.source)
    return [text for text in found if not text.startswith("local derivative")]


def test_the_original_engine_is_drawn_and_stepped_through():
    a, b = Original(3.0), Original(-2.0)
    c = (a * b + a * a).relu() ** 2
    c.grad = a.grad = 1.0
    given = {"a": a, "b": b, "c": c}
    cards, _ = picture(c, names=given)
    assert ["x² c", "data 9", "grad 1"] in cards.values()
    assert sorted(arrows(c, names=given)) == sorted(
        [*[("a", "×")] * 3, ("b", "×"), *[("×", "+")] * 2, ("+", "ReLU"), ("ReLU", "x² c")]
    )  # a is twice an operand, though a set holds it once
    assert {*rules_in(draw_dot(c, names=given, edges="derivatives"))} > {"6", "−2", "3"}
    assert '"labels":{"0":"a","1":"b"' in explain(c, names=given).html
    assert (a.grad, b.grad) == (1.0, 0)  # nothing is changed


def test_the_order_of_a_difference_is_found_in_a_set():
    for x, y in ((5.0, 2.0), (2.0, 5.0)):
        a, b = Original(x), Original(y)
        assert arrows(a - b, names={"a": a, "b": b}) == [("a", "−"), ("b", "−")]


def test_an_operation_of_its_own_has_the_derivatives_of_its_closure():
    x = Original(2.0)
    assert rules_in(draw_dot(x.cube(), edges="derivatives")) == ["12"]
    assert "cube" in explain(x.cube() + x).html


def test_microgpts_engine_is_named_by_its_numbers():
    x, w = Recorded(2.0), Recorded(0.5)
    y = ((x * w + x * x).relu() ** 2).exp().log() * w**-0.5
    assert {"×", "log", "exp", "x²", "ReLU", "+"} < {*names(y, names={"x": x, "w": w})}
    assert "sentence" in explain(y, names=locals()).html
    y.grad = 1.0
    draw_dot(y, names=locals(), edges="derivatives").pipe()


@pytest.mark.parametrize("edits", [(), ((".grad +=", ".grad ="),)])
def test_the_lectures_class_and_a_learners_mistake(edits):
    kind = class_of(edited(*edits) if edits else RIGHT)
    a = kind(3.0, label="a")
    s = a + a
    s.backward()
    text = draw_dot(s, edges="derivatives").source
    assert text.count("v0 -> v1") == 2
    assert ">a<" in text
    grads = re.findall(f'COLOR="{LIGHT["gradient"]}">([^<]+)<', text)
    assert ("1" if edits else "2") in grads  # its own number, right or wrong
    assert explain(s).html


def test_unknown_derivatives_are_left_out_and_said():
    x = Silent(1.0)
    odd = Silent(6.0, (Silent(2.0, (x, x), "+"),), "odd")
    text = draw_dot(odd, edges="derivatives").source
    assert rules_in(draw_dot(odd, edges="derivatives")) == ["1", "1"]  # + tells by its number
    assert text.count("no derivative known") == 1
    with pytest.raises(ValueError, match="does not tell its local derivatives"):
        explain(odd)


def test_an_array_of_nodes_has_several_roots():
    a = Original(3.0)
    numpy = pytest.importorskip("numpy")
    assert draw_dot(numpy.array([a * a, a + a])).source.count("->") == 4


class Recursive(Silent):
    """Its _backward calls those of its operands."""

    def __add__(self, other):
        return Recursive(self.data + other.data, (self, other))

    def _backward(self):
        for operand in self._prev:
            operand.grad += self.grad
            operand._backward()


def test_a_recursive_backward_is_not_mistaken_for_a_local_derivative():
    x, y, z = Recursive(1.0), Recursive(2.0), Recursive(3.0)
    total = (x + y) + z
    for i, v in enumerate((x, y, z, total._prev[0], total)):
        v.grad = i + 0.5
    assert rules_in(draw_dot(total, edges="derivatives")) == ["1"] * 4  # named by its number: ours
    assert [v.grad for v in (x, y, z, total._prev[0], total)] == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_a_deep_graph_and_a_cycle():
    node = Recorded(0.0)
    for _ in range(3000):
        node = node + Recorded(1.0)
    assert ">3000<" in draw_dot(node).source
    one = Silent(1.0)
    one._prev = (one,)
    with pytest.raises(ValueError, match="cycle"):
        draw_dot(one)


def test_equality_of_numbers_does_not_mix_up_nodes():
    class Equal(Silent):
        def __eq__(self, other):
            return self.data == other.data

        __hash__ = None

    assert len(names(Equal(4.0, (Equal(2.0), Equal(2.0)), "+"), names={})) == 3


def test_what_is_no_node_is_refused_as_before():
    for wrong in (Original, [[Original(1.0)]]):
        with pytest.raises(TypeError, match="a graph starts from a Value, got"):
            draw_dot(wrong)
    with pytest.raises(TypeError, match="expected a number as the data of a Value"):
        draw_dot(Silent("a text"))


@pytest.mark.parametrize(
    ("data", "grad", "operands"),
    [
        *((name, "grad", "_prev") for name in ALIASES["data"]),
        *(("data", name, "_prev") for name in ALIASES["grad"]),
        *(("value", "gradient", name) for name in ("parents", "_inputs", "children", "args")),
    ],
)
def test_attributes_of_other_names_are_found(data, grad, operands):
    text = RIGHT.replace(".data", f".{data}").replace(".grad", f".{grad}")
    kind = class_of(text.replace("._prev", f".{operands}"))
    a, b = kind(3.0), kind(2.0)
    c = a * b + a
    c.backward()
    picture = draw_dot(c, names={"a": a, "b": b, "c": c}, edges="derivatives")
    assert rules_in(picture) == ["2", "3", "1", "1"]
    grads = re.findall(f'COLOR="{LIGHT["gradient"]}">([^<]+)<', picture.source)
    assert grads.count("3") >= 2  # of a, and of b
    assert explain(c).html
    assert [getattr(v, grad) for v in (a, b, c)] == [3.0, 3.0, 1.0]


@pytest.mark.parametrize("operands", ["_childs", "_previous", "parent_nodes"])
@pytest.mark.parametrize("collected", ["tuple", "list", "set"])
def test_operands_and_closures_are_found_under_any_name(operands, collected):
    text = RIGHT.replace("_prev = tuple", f"_prev = {collected}").replace("_backward", "_pass_on")
    kind = class_of(text.replace("._prev", f".{operands}"))
    a, b = kind(3.0), kind(2.0)
    assert arrows(a * b + a, names={"a": a, "b": b})[:2] == [("a", "×"), ("b", "×")]
    assert rules_in(draw_dot(a * b + a, names={}, edges="derivatives")) == ["2", "3", "1", "1"]


def test_an_operand_in_each_attribute():
    class Pair:
        def __init__(self, data, left=None, right=None):
            self.data, self.grad, self.left, self.right = data, 0.0, left, right

    x = Pair(3.0)
    assert names(Pair(10.0, Pair(9.0, x, x), Pair(1.0))) == ["data 3", "?", "data 1", "?"]


@pytest.mark.parametrize("op", ["pow", "**", "^"])
def test_an_exponent_is_told_by_the_numbers(op):
    for x in (2.0, -2.0, 0.5):
        assert names(Original(x).result(x**3, (), op, 3 * x**2))[-1] == "x³"
    assert names(Silent(8.0, (Silent(2.0),), op))[-1] == "x³"
    assert names(Silent(8.0, (Silent(2.0), Silent(3.0)), op))[-1] == "x^y"


def test_a_sign_that_does_not_fit_the_numbers_is_replaced():
    for x, y in ((5.0, -2.0), (2.0, 2.0)):
        assert names(Original(x).result(x + y, (Original(y),), "-", 1, 1))[-1] == "+"
    assert names(Original(5.0) - Original(2.0))[-1] == "−"
    assert names(Silent(7.0, (Silent(5.0), Silent(3.0)), "*"))[-1] == "×"  # no sign fits: its own


def test_an_engine_of_arrays_is_refused():
    np = pytest.importorskip("numpy")
    X, w = Original(np.ones((4, 2))), Original(np.array([2.0, -1.0]))
    for show in (draw_dot, explain):
        with pytest.raises(TypeError, match="got ndarray"):
            show(X * w)


@pytest.mark.parametrize("name", thinned(ENGINES, 4))
def test_right_engines_are_drawn(name):
    text, _ = ENGINES[name]
    if any(part in text for part in ("not_there", "while True", "10**9", "x = Value()")):
        pytest.skip("only a grader, which runs the class alone, can load it")
    kind = class_of(text)
    a = kind(3.0)
    b = a * a
    assert draw_dot(b + a, names=locals()).source.count("->") == 4
    assert explain(b + a, names=locals()).html


def test_the_error_says_which_attributes_are_looked_for():
    class Odd:
        pass

    with pytest.raises(TypeError, match=r"data \(data, value, .*grad \(grad, .*operands \(_prev, "):
        draw_dot(Odd())


def test_names_from_the_user_come_before_the_labels_of_the_engine():
    kind = class_of(RIGHT)
    a, b = kind(3.0, label="v1"), kind(2.0, label="v2")
    source = draw_dot(a * b, names={"mine": a}).source
    assert ">mine<" in source
    assert ">v1<" not in source
    assert ">v2<" in source


def test_numbers_that_another_engine_wraps_have_the_names_of_their_lists():
    xs, ys = [2.0, 3.0, 1.5], [1.0, -1.0, 0.5]
    w = Original(0.5)
    errors = [w * Original(x) + -y for x, y in zip(xs, ys, strict=True)]
    loss = errors[0] * errors[0] + errors[1] * errors[1] + errors[2] * errors[2]
    found = names(loss, names={"xs": xs, "ys": ys, "w": w})
    assert {"xs[0]", "xs[2]", "-ys[1]", "w"} <= {*found}
    svg = draw_dot(loss, names={"xs": xs, "ys": ys, "w": w}, level=0).source
    assert "-ys" in svg
