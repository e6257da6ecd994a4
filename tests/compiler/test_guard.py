"""A compiled function is never out of date: a change of anything it reads is noticed."""

from __future__ import annotations

import dataclasses
import enum
import functools
import gc
import operator
import random
import sys
import types
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from demo_scripts import load
from sampling import thinned

import micrograd
from micrograd import Value, where
from micrograd.arrays import values
from micrograd.nn import MLP, Layer, Module
from micrograd.optim import SGD

X = np.array([[0.5, -1.0], [1.5, 2.0], [-0.5, 0.25]])


@pytest.fixture(autouse=True)
def with_numpy(monkeypatch):
    """What a function reads is found before an executor runs it, so one executor is enough."""
    plain = micrograd.compile
    monkeypatch.setattr(
        micrograd, "compile", lambda *f, **k: plain(*f, **{"executor": "numpy"} | k)
    )


def in_notebook(code: str, **given) -> dict:
    """The globals after these lines have run as a cell of a notebook."""
    cell = {"__name__": "__main__", "micrograd": micrograd, "Value": Value, "MLP": MLP, **given}
    run_cell(cell, code)
    return cell


def run_cell(cell: dict, code: str) -> None:
    exec(compile(code, "<cell>", "exec"), cell)


LOSS = """
def eager(x):
    return (1 - model(x)).relu()
loss = micrograd.compile(eager)
"""


def assert_current(cell: dict, xs=X) -> None:
    """The compiled function agrees with the original, in results and gradients."""
    expected = sum(cell["eager"](list(x)).data for x in xs) / len(xs)
    batch = cell["loss"](xs)
    assert batch.data == pytest.approx(expected, rel=1e-12)
    model = cell.get("model")
    if isinstance(model, Module):
        model.zero_grad()
        batch.backward()
        compiled = [p.grad for p in model.parameters()]
        model.zero_grad()
        (sum(cell["eager"](list(x)) for x in xs) / len(xs)).backward()
        assert compiled == pytest.approx([p.grad for p in model.parameters()], rel=1e-12, abs=1e-14)


EDITS = {
    "the cell of the model is run again": "model = MLP(2, [4, 1])",
    "a weight is replaced": "model.layers[0].neurons[0].w[0] = Value(10.0)",
    "a bias is replaced": "model.layers[0].neurons[0].b = Value(10.0)",
    "a list of weights is replaced": "model.layers[0].neurons[0].w = [Value(1.0), Value(2.0)]",
    "a layer is appended": "model.layers.append(nn.Layer(1, 1))",
    "a neuron is removed": "del model.layers[0].neurons[0], model.layers[1].neurons[0].w[0]",
    "an activation is changed": "model.layers[0].neurons[0].activation = 'tanh'",
    "a layer is replaced": "model.layers[0] = nn.Layer(2, 4, activation='tanh')",
    "layers change places": "model.layers[0].neurons.reverse()",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_of_the_model(edit):
    cell = in_notebook("model = MLP(2, [4, 1])" + LOSS, nn=micrograd.nn)
    assert_current(cell)
    run_cell(cell, edit)
    assert_current(cell)


# Beside those that the table of demos/speed has.
CASES = load("speed/staleness").CASES
NUMBERS = {
    "getattr, the name in a variable": (
        "c = NS(rate=2.0); name = 'rate'", "getattr(c, name) * x", "c.rate = 5.0"
    ),
    "a module in a folder without __init__.py": (
        "import conf_of_a_test.settings as _, conf_of_a_test as conf", "conf.settings.rate * x",
        "conf.settings.rate = 5.0",
    ),
    "a Value": ("w = Value(2.0)", "w * x", "w = Value(10.0)"),
    "a list in a list": ("table = [[2.0]]", "table[0][0] * x", "table[0][0] = 5.0"),
    "a tuple of lists": ("table = ([2.0],)", "table[0][0] * x", "table[0][0] = 5.0"),
    "an array's other view": ("a = np.ones(3); b = a[1:]", "float(b[0]) * x", "a[1] = 5.0"),
    "an array of Values": (
        "a = values([2.0, 3.0])", "a[1] * x", "a[1] = Value(5.0)"
    ),
    "an attribute's attribute": ("c = NS(d=NS(rate=2.0))", "c.d.rate * x", "c.d.rate = 5.0"),
    "an attribute that hasattr looks for": (
        "c = NS()", "(c.rate if hasattr(c, 'rate') else 1.0) * x", "c.rate = 5.0"
    ),
    "a class attribute that is hidden": (
        "class C:\n rate = 2.0\nc = C()", "c.rate * x", "c.rate = 5.0"
    ),
    "a class by its name": ("class C:\n rate = 2.0", "C.rate * x", "C.rate = 5.0"),
    "a slot": (
        "class C:\n __slots__ = ('rate',)\nc = C(); c.rate = 2.0", "c.rate * x", "c.rate = 5.0"
    ),
    "an equal object that changes later": (
        "@dataclass\nclass C:\n rate: float\nc = C(2.0)", "c.rate * x",
        "c = C(2.0); loss(X); c.rate = 5.0",
    ),
    "a helper's code": (
        "def f(x): return 2.0 * x", "f(x)", "f.__code__ = (lambda x: 5.0 * x).__code__"
    ),
    "an attribute of a helper": (
        "def f(x): return x * f.scale\nf.scale = 2.0", "f(x)", "f.scale = 5.0"
    ),
    "a helper's mutable default": (
        "t = [2.0]\ndef f(x, rate=t): return rate[0] * x", "f(x)", "t[0] = 5.0"
    ),
    "a name that hides a built-in one": ("", "abs(x)", "abs = lambda x: 5.0 * x"),
    "what is imported inside": (
        "", "__import__('helper_of_a_test') and imported() * x",
        "import helper_of_a_test as h; h.rate = 5.0",
    ),
    "a method of the function's object": (
        "class C:\n def __call__(self, x): return 2.0 * x\nc = C()", "c(x)",
        "C.__call__ = lambda self, x: 5.0 * x",
    ),
    "an attribute of a member of an enum": (
        "class E(enum.Enum):\n A = [2.0]", "E.A.value[0] * x", "E.A.value[0] = 5.0"
    ),
    "a member of an enum that is a number": (
        "class E(enum.IntEnum):\n A = 2\n B = 5\ne = E.A", "e * x", "e = E.B"
    ),
    "a number kept by a descriptor": (
        "class D:\n def __get__(self, owner, kind): return owner._rate\n"
        "class C:\n rate = D()\nc = C(); c._rate = 2.0", "c.rate * x", "c._rate = 5.0",
    ),
    "an item by attribute": (
        "class C(dict):\n def __getattr__(self, name): return self[name]\nc = C(rate=2.0)",
        "c.rate * x", "c['rate'] = 5.0",
    ),
    "a method behind super()": (
        "class B:\n def f(self): return 2.0\n"
        "class C(B):\n def f(self): return super().f()\nc = C()",
        "c.f() * x", "B.f = lambda self: 5.0",
    ),
    "a class method hidden by a subclass": (
        "class B:\n @classmethod\n def f(cls): return 2.0\nclass C(B): pass\nc = C()",
        "c.f() * x", "C.f = classmethod(lambda cls: 5.0)",
    ),
    "a special method": (
        "class C:\n def __or__(self, _): return rate\nc, rate = C(), 2.0", "(c | 1) * x",
        "rate = 5.0",
    ),
    "what the constructor of a new object reads": (
        "@dataclass\nclass C:\n r: float = 1.0\n def __post_init__(self): self.r = rate\n"
        "rate = 2.0",
        "C().r * x", "rate = 5.0",
    ),
    "a decorated function": (
        "@functools.singledispatch\ndef f(x): return x\n"
        "@f.register(int)\ndef _(x): return rate\nrate = 2.0", "f(1) * x", "rate = 5.0",
    ),
    "a float with attributes": (
        "class F(float): pass\nf = F(1.0); f.rate = 2.0", "f.rate * x", "f.rate = 5.0"
    ),
    "an array of records": (
        "a = np.array([([2.0],)], [('r', object)])", "a['r'][0][0] * x", "a['r'][0][0] = 5.0"
    ),
    "a class attribute of a Value": (
        "class V(Value):\n rate = 2.0\nw = V(1.0)", "w.rate * w * x", "V.rate = 5.0"
    ),
    "a module's number that was not there": (
        "import helper_of_a_test as h", "getattr(h, 'other', 2.0) * h.rate * x", "h.other = 5.0"
    ),
    "a number on a Value": ("w = Value(1.0); w.m = 2.0", "w.m * w * x", "w.m = 5.0"),
}  # fmt: skip


@pytest.fixture
def helper_module(monkeypatch, tmp_path):
    module = types.ModuleType("helper_of_a_test")
    module.__file__ = str(tmp_path / "helper_of_a_test.py")
    module.rate = 2.0
    monkeypatch.setitem(sys.modules, "helper_of_a_test", module)
    folder = tmp_path / "conf_of_a_test"  # no __init__.py
    folder.mkdir()
    (folder / "settings.py").write_text("rate = 2.0", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("helper_module")
@pytest.mark.parametrize(
    ("before", "formula", "edit"), [*CASES.values(), *NUMBERS.values()], ids=[*CASES, *NUMBERS]
)
def test_an_edit_of_what_a_function_reads(before, formula, edit):
    lines = f"""
def imported():
    import helper_of_a_test
    return helper_of_a_test.rate
{before}
one = Value(1.0)
def eager(x):
    x = x[0]
    return one * ({formula})
loss = micrograd.compile(eager)
"""
    known = {"Module": Module, "parameter": Value, "set_number": lambda p, x: setattr(p, "data", x)}
    known |= {
        "folder": "",
        "np": np,
        "NS": types.SimpleNamespace,
        "X": X,
        "dataclass": dataclasses.dataclass,
    }
    known["dataclasses"] = dataclasses
    modules = {m.__name__: m for m in (enum, functools, operator, types, weakref)}
    cell = in_notebook(lines, values=values, **known, **modules)
    assert_current(cell)
    earlier = cell["loss"](X).data
    run_cell(cell, edit)
    assert_current(cell)
    assert cell["loss"](X).data != earlier
    programs = cell["loss"].programs
    cell["loss"](X)
    assert cell["loss"].programs is programs  # not compiled again without need


def test_an_attribute_of_a_compiled_function():
    w = Value(2.0)

    @micrograd.compile
    def loss(x):
        return w * x * loss.scale

    loss.scale = 2.0
    assert loss([1.0]).data == 4.0
    loss.scale = 3.0
    assert loss([1.0]).data == 6.0


def test_a_compiled_function_with_plain_numbers_inside_another_one_is_refused():
    w, v = Value(2.0), Value(1.0)
    inner = micrograd.compile(lambda x: w * x)
    outer = micrograd.compile(lambda x: v * x * inner([1.0]).data)
    with pytest.raises(ValueError, match="would never be updated"):
        outer([1.0])
    assert micrograd.compile(lambda x: v * inner(x))([1.0]).data == 2.0
    assert inner([1.0]).data == 2.0


class Trainer:
    """What users write: everything in one object, and some of it changes in each step."""

    def __init__(self):
        self.model, self.steps, self.losses = MLP(2, [4, 1]), 0, []
        self.optimizer = SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.loss = micrograd.compile(self.example_loss)

    def example_loss(self, x, y):
        hinge = where(x[0] > 5.0, 0.0, (1 - y * self.model(x)).relu())
        penalty = sum(p * p for p in self.model.parameters())
        return hinge + micrograd.take([0.0, 1e-4], 1) * penalty

    def step(self):
        batch = self.loss(X, np.array([1.0, -1.0, 1.0]))
        self.optimizer.zero_grad()
        batch.backward()
        self.optimizer.step()
        self.steps += 1
        self.losses.append(batch.data)
        self.last = batch


def test_a_training_loop_is_compiled_once():
    trainer = Trainer()
    trainer.step()
    programs = trainer.loss.programs
    for _ in range(5):
        trainer.step()
    assert trainer.loss.programs is programs
    assert trainer.losses[-1] < trainer.losses[0]


def test_attributes_created_on_first_use():
    class Model:
        scale = None

        def __init__(self):
            self.w = []

        def __call__(self, x):
            if self.scale is None:
                self.scale = 2.0
            if not self.w:
                self.w.append(Value(3.0))
            return self.w[0] * self.scale * x

    model = Model()
    compiled = micrograd.compile(model)
    assert compiled([1.0]).data == 6.0
    compiled([1.0]).backward()
    assert model.w[0].grad == 2.0
    model.scale = 5.0
    assert compiled([1.0]).data == 15.0


# ---- parameters that only decide, or that the first call does not reach


def test_a_parameter_in_a_branch_that_the_first_call_does_not_take():
    w = Value(-1.0)
    compiled = micrograd.compile(lambda x: where(w > 0, w * x, 0 * x))
    assert compiled([1.0, 2.0]).data == 0.0
    w.data = 3.0
    batch = compiled([1.0, 2.0])
    assert batch.data == 4.5
    batch.backward()
    assert w.grad == 1.5


def test_a_parameter_that_decides_between_equal_sides():
    t, w = Value(1.0), Value(2.0)
    compiled = micrograd.compile(lambda x: [where(t > x, w, w), w * x, where(t > x, w, -w)])
    for _ in range(2):
        batch = compiled([0.5, 3.0])
        assert batch.data == [2.0, 3.5, 0.0]
        for i, gradient in ((0, 1.0), (1, 1.75), (2, 0.0)):
            w.grad = 0
            batch[i].backward()
            assert w.grad == gradient


@pytest.mark.parametrize("read", [lambda w: w.data, lambda w: w.detach(), lambda w: w * 0 + w.data])
def test_the_data_of_a_value(read):
    w, v = Value(2.0), Value(1.0)
    compiled = micrograd.compile(lambda x: v * x * read(w))
    assert compiled([1.0]).data == 2.0
    w.data = 5.0
    assert compiled([1.0]).data == 5.0


# ---- methods


def compiled_method(**attributes):
    def loss(self, x):
        return self.w * x

    return type("Model", (), {"loss": micrograd.compile(loss), **attributes})


@pytest.mark.parametrize(
    "attributes",
    [{"__eq__": lambda self, other: True, "__hash__": None}, {"__slots__": ("__weakref__", "w")}],
    ids=["unhashable", "slotted with weak references"],
)
def test_objects_of_all_kinds_have_compiled_methods(attributes):
    kind = compiled_method(**attributes)
    models = [kind(), kind()]
    for i, model in enumerate(models):
        model.w = Value(2.0 + i)
    for _ in range(2):
        assert [model.loss([1.0]).data for model in models] == [2.0, 3.0]
    models[0].w = Value(7.0)
    assert [model.loss([1.0]).data for model in models] == [7.0, 3.0]


def test_a_compiled_method_does_not_keep_its_object_alive():
    kind = compiled_method()
    model = kind()
    model.w = Value(2.0)
    model.loss([1.0])
    reference = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert reference() is None
    finally:
        gc.enable()


def test_keywords_after_an_omitted_one():
    w = Value(1.0)
    compiled = micrograd.compile(lambda a, b=10.0, c=100.0: w * (a + 2 * b + 3 * c))
    for _ in range(2):
        assert compiled([1.0]).data == 1 + 20 + 300
        assert compiled([1.0], c=[7.0]).data == 1 + 20 + 21
        assert compiled([1.0], c=[7.0], b=[5.0]).data == 1 + 10 + 21
        assert compiled(c=[7.0], a=[1.0]).data == 1 + 20 + 21
    w.data = 2.0
    assert compiled([1.0], c=[7.0]).data == 2 * 42


# ---- threads and processes


def test_threads_that_record_compute_and_call_at_once():
    model, w = MLP(2, [4, 1]), Value(3.0)
    numbers = [model(list(x)).data for x in X]
    compiled = micrograd.compile(lambda x: (w * x).tanh() + w)

    def call(i):
        xs = np.linspace(-1, 1, 50) + i
        for _ in range(10):
            found = micrograd.compile(lambda x: model(x))(X).data
            assert found == pytest.approx(sum(numbers) / len(X), rel=1e-12)
            own = Value(2.0)
            (own * model(X[0])).backward()
            assert own.grad == numbers[0]
        for _ in range(100):
            np.testing.assert_allclose(compiled(xs).lanes, np.tanh(3.0 * xs) + 3.0, rtol=1e-12)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(call, range(4)))
    finally:
        sys.setswitchinterval(interval)


# ---- random edits between calls of functions and steps of optimizers


def test_a_function_that_is_compiled_on_every_call_warns():
    w, scale = Value(1.0), [0.0]
    compiled = micrograd.compile(lambda x: w * x * scale[0])

    def call(times):
        for _ in range(times):
            scale[0] += 1.0
            assert compiled([1.0]).data == scale[0]

    call(19)
    with pytest.warns(RuntimeWarning, match="compiled 20 times.*as an argument"):
        call(1)


@pytest.mark.filterwarnings("ignore:.*has been compiled:RuntimeWarning")
@pytest.mark.parametrize("seed", thinned(range(3), 3))
def test_random_edits_between_calls_and_steps(seed, effort, record_property):
    rng = random.Random(seed)
    random.seed(seed)
    world = types.SimpleNamespace(models=[MLP(2, [3, 1]), MLP(2, [2, 1])], scale=1.0, table=[0.5])

    class Owner:
        def __init__(self, world):
            self.world = world

        @micrograd.compile
        def loss(self, x):
            return self.world.models[0](x) * self.world.table[0]

    owner = Owner(world)
    functions = {
        "first": lambda x: world.models[0](x) * world.scale,
        "second": lambda x: world.models[-1](x).tanh() + world.table[0],
        "both": lambda x: (world.models[0](x) + world.models[-1](x)).relu() * world.scale,
        "method": lambda x: world.models[0](x) * world.table[0],
    }
    compiled = {name: micrograd.compile(f) for name, f in functions.items() if name != "method"}

    def neuron():
        return rng.choice(rng.choice(rng.choice(world.models).layers).neurons)

    def edit():
        edits = [
            lambda: setattr(world, "scale", rng.uniform(-2, 2)),
            lambda: world.table.__setitem__(0, rng.uniform(-2, 2)),
            lambda: world.models.__setitem__(rng.randrange(2), MLP(2, [rng.randint(1, 4), 1])),
            lambda: neuron().w.__setitem__(0, Value(rng.uniform(-1, 1))),
            lambda: setattr(neuron(), "b", Value(rng.uniform(-1, 1))),
            lambda: setattr(neuron(), "activation", rng.choice(["relu", "tanh", "linear"])),
            lambda: setattr(neuron().b, "data", rng.uniform(-1, 1)),
            lambda: world.models.reverse(),
            lambda: rng.choice(world.models).layers.append(Layer(1, 1)),
            lambda: setattr(rng.choice(world.models), "note", rng.random()),
        ]
        rng.choice(edits)()

    def parameters():
        return list(dict.fromkeys(p for model in world.models for p in model.parameters()))

    checks = 0
    for _ in range(30 * effort):
        for _ in range(rng.randint(0, 2)):
            edit()
        name = rng.choice(list(functions))
        function, n = functions[name], rng.randint(1, 4)
        xs = [[rng.uniform(-1, 1) for _ in range(2)] for _ in range(n)]
        everything = parameters()
        for p in everything:
            p.grad = 0
        total = sum(function(x) for x in xs) / n
        total.backward()
        expected = total.data, [p.grad for p in everything]
        for p in everything:
            p.grad = 0
        batch = owner.loss(xs) if name == "method" else compiled[name](xs)
        batch.backward()
        assert batch.data == pytest.approx(expected[0], rel=1e-12, abs=1e-14)
        assert [p.grad for p in everything] == pytest.approx(expected[1], rel=1e-10, abs=1e-13)
        checks += 1
        if rng.random() < 0.5:
            SGD(rng.choice(world.models).parameters(), lr=0.05).step()
    record_property("count", f"{checks} calls after random edits agree with eager mode")
