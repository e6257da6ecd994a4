"""The site's comparison with PyTorch: what stands in one row gives the same numbers."""

import itertools
import random
import re
from pathlib import Path

import numpy as np
import pytest

from micrograd import Value, no_grad, optim
from micrograd.arrays import values
from micrograd.derivatives import hessian, jacobian, jvp, vjp
from micrograd.losses import cross_entropy
from micrograd.nn import MLP, Linear, Module, ReLU, Sequential

torch = pytest.importorskip("torch")
PAGE = Path(__file__).parents[2] / "demos" / "site" / "compared.md"
POINT = (0.5, -1.5)


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def same(ours, theirs):
    theirs = [t.detach().numpy() if isinstance(t, torch.Tensor) else t for t in theirs]
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-12, atol=1e-14)


def twins(*sizes):
    """A network of ours and one of PyTorch's with the same parameters, in the same order."""
    random.seed(0)
    ours, theirs = [], []
    for n_in, n_out in itertools.pairwise(sizes):
        ours += [Linear(n_in, n_out), ReLU()]
        theirs += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    ours, theirs = Sequential(*ours[:-1]), torch.nn.Sequential(*theirs[:-1]).double()
    numbers = torch.tensor([p.data for p in ours.parameters()], dtype=torch.float64)
    torch.nn.utils.vector_to_parameters(numbers, theirs.parameters())
    return ours, theirs


def gradients(ours, theirs):
    """The gradients of all parameters, in order, as two flat lists."""
    flat = torch.cat([p.grad.ravel() for p in theirs.parameters()])
    return [p.grad for p in ours.parameters()], flat


def test_a_number():
    x, t = Value(2.0), torch.tensor(2.0, requires_grad=True)
    assert (x.data, x.item(), x.requires_grad, x.is_leaf) == (2.0, t.item(), True, True)
    (x * x).backward()
    (t * t).backward()
    assert x.grad == t.grad.item() == 4.0


def test_a_second_backward_adds_the_same_again():
    x, t = Value(3.0), tensor(3.0)
    ours, theirs = (x * x).tanh() * x, (t * t).tanh() * t
    for _ in range(2):
        ours.backward()
        theirs.backward(retain_graph=True)
        same([x.grad], [t.grad])


@pytest.mark.parametrize(
    "name", ["relu", "tanh", "exp", "log", "sigmoid", "sqrt", "sin", "cos", "abs"]
)
def test_functions(name):
    for number in (0.3, 2.0) if name in ("log", "sqrt") else (-0.7, 0.0, 2.0):
        x, t = Value(number), tensor(number)
        ours = abs(x) if name == "abs" else getattr(x, name)()
        theirs = getattr(t, name)()
        ours.backward()
        theirs.backward()
        same([ours.data, x.grad], [theirs, t.grad])


def test_a_network():
    random.seed(1)
    ours = MLP(2, [16, 16, 1])
    layers = [layer for sizes in ((2, 16), (16, 16), (16, 1))
              for layer in (torch.nn.Linear(*sizes), torch.nn.ReLU())]  # fmt: skip
    theirs = torch.nn.Sequential(*layers[:-1]).double()
    for linear, layer in zip(theirs[::2], ours.layers, strict=True):
        rows = np.array([[p.data for p in neuron.parameters()] for neuron in layer.neurons])
        linear.weight.data = torch.tensor(rows[:, :-1])
        linear.bias.data = torch.tensor(rows[:, -1])
    assert len(ours.parameters()) == sum(p.numel() for p in theirs.parameters())
    same([ours(POINT).data], theirs(tensor(POINT)))


class Inner(Module):
    def __init__(self):
        self.first, self.second = Value(1.0), Value(2.0)


class Outer(Module):
    def __init__(self):
        self.inner, self.last = Inner(), Value(3.0)


class TheirInner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (torch.nn.Parameter(tensor(x)) for x in (1.0, 2.0))


class TheirOuter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.last = TheirInner(), torch.nn.Parameter(tensor(3.0))


def test_parameters_and_their_order():
    ours, theirs = Outer(), TheirOuter()
    names = [name for name, _ in ours.named_parameters()]
    assert names == [name for name, _ in theirs.named_parameters()]
    assert names == ["last", "inner.first", "inner.second"]
    same([p.data for p in ours.parameters()], theirs.parameters())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    same(ours.state_dict().values(), theirs.state_dict().values())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_optimizers(name):
    ours, theirs = twins(2, 3, 2)
    X, y = np.random.default_rng(0).normal(size=(4, 2)), [0, 1, 1, 0]
    ours_step = getattr(optim, name)(ours.parameters(), lr=0.1)
    theirs_step = getattr(torch.optim, name)(theirs.parameters(), lr=0.1)
    for _ in range(5):
        for optimizer, loss in (
            (ours_step, cross_entropy(ours(X), y)),
            (theirs_step, torch.nn.functional.cross_entropy(theirs(tensor(X)), torch.tensor(y))),
        ):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    flat = torch.cat([p.ravel() for p in theirs.parameters()]).detach().numpy()
    np.testing.assert_allclose([p.data for p in ours.parameters()], flat, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_batch(n):
    ours, theirs = twins(2, 4, 3)
    X, y = np.random.default_rng(n).normal(size=(n, 2)), np.arange(n) % 3
    outputs, expected = ours(X), theirs(tensor(X))
    same([outputs.data], [expected])
    loss = cross_entropy(outputs, y)
    their_loss = torch.nn.functional.cross_entropy(expected, torch.tensor(y))
    loss.backward()
    their_loss.backward()
    same([loss.data], [their_loss])
    same(*gradients(ours, theirs))


def test_an_array():
    numbers, upstream = np.arange(6.0).reshape(2, 3), np.ones((2, 3)) * [[1, 2, 3], [4, 5, 6]]
    A, t = values(numbers), tensor(numbers)
    (A * A).relu().backward(upstream)
    (t * t).relu().backward(torch.tensor(upstream))
    same([A.data, A.grad], [t, t.grad])


def test_pausing_and_detaching():
    x, t = Value(2.0), tensor(2.0)
    with no_grad(), torch.no_grad():
        paused, theirs = x * x, t * t
    assert paused.data == theirs.item() == 4.0
    assert not paused.requires_grad
    assert not theirs.requires_grad
    for y in (x * x.detach(), t * t.detach()):
        y.backward()
    assert x.grad == t.grad.item() == 2.0
    copy, shared = x.detach(), t.detach()
    copy.data = 5.0
    shared += 3.0
    assert (x.data, t.item()) == (2.0, 5.0)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # PyTorch itself
def test_derivatives():
    def f(x, y):
        return (x * y).tanh() + x * x * x

    xs = [Value(number) for number in POINT]
    ts = torch.tensor(POINT, dtype=torch.float64)

    def g(t):
        return f(t[0], t[1])

    direction = torch.tensor([1.0, 2.0], dtype=torch.float64)
    same([jvp(f(*xs), dict(zip(xs, [1.0, 2.0], strict=True)))],
         [torch.func.jvp(g, (ts,), (direction,))[1]])  # fmt: skip
    pull = torch.func.vjp(g, ts)[1]
    same([[vjp(f(*xs), 3.0)[x] for x in xs]], [pull(torch.tensor(3.0, dtype=torch.float64))[0]])
    same([np.ravel(jacobian(f(*xs), xs))], [torch.func.jacrev(g)(ts)])
    same([hessian(f, POINT)], [torch.func.hessian(g)(ts)])


COVERED = {  # the first cell of each row: its test above; drawings have no counterpart in PyTorch
    "`Value(2.0)`": test_a_number,
    "`x.data`, `x.grad`": test_a_number,
    "`loss.backward()`": test_a_second_backward_adds_the_same_again,
    "`x.relu()`, `x.tanh()`, `x.exp()`, `x.log()`, ...": test_functions,
    "`MLP(2, [16, 16, 1])`": test_a_network,
    "`model.parameters()`, `named_parameters()`, `state_dict()`": test_parameters_and_their_order,
    "`optim.SGD(model.parameters(), lr=0.1)`, `Adam`, `AdamW`": test_optimizers,
    "`model(X)`, `cross_entropy(model(X), y)` for a batch": test_a_batch,
    "`values(...)` with `data`, `grad`, `backward(gradient)`": test_an_array,
    "`no_grad()`, `x.detach()`": test_pausing_and_detaching,
    "`jvp`, `vjp`, `jacobian`, `hessian`": test_derivatives,
}


def test_each_row_has_a_test():
    text = PAGE.read_text(encoding="utf-8")
    table = re.search(r"\| here \| original \| PyTorch \|\n\|.*\n((?:\|.*\n)+)", text)[1]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
    assert [here for here, _, pytorch in rows if pytorch] == list(COVERED)
