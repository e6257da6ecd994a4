"""The GPT that invents names: its numbers against arrays, and the script as a user runs it."""

import os
import random
import re
import sys
from functools import partial

import numpy as np
import pytest
from demo_scripts import interrupted, load, run

from micrograd import Value

LETTERS = "abcdefghijklmnopqrstuvwxyz"
END = 26


@pytest.fixture(scope="module")
def demo():
    return load("microgpt")


@pytest.fixture
def model(demo):
    random.seed(0)
    return demo.GPT(tokens=27)


def matrices(model):
    """The parameters as nine lists of rows, in the order of the formulas."""
    wide, _, narrow = model.mlp.modules
    linears = (model.query, model.key, model.value, model.projection, wide, narrow, model.output)
    return [model.token_table, model.position_table, *(linear.weight for linear in linears)]


def numbers(model, name="data"):
    return [np.array([[getattr(p, name) for p in row] for row in m]) for m in matrices(model)]


# ---- the model


def test_the_parameters_are_those_of_the_text(demo, model):
    shapes = [matrix.shape for matrix in numbers(model)]
    assert shapes == [(27, 16), (16, 16), *[(16, 16)] * 4, (64, 16), (16, 64), (27, 16)]
    in_order = [p for matrix in matrices(model) for row in matrix for p in row]
    assert model.parameters() == in_order
    assert len(in_order) == 4192
    assert "4,192 parameters" in demo.__doc__
    assert {p.label: p for p in in_order} == dict(model.named_parameters())
    assert model.token_table[3][5].label == "token_table[3][5]"


@pytest.mark.parametrize("name", ["a", "otto", "abcdefghijklmno"])
def test_gradients_are_those_of_pytorch(demo, model, name):
    torch = pytest.importorskip("torch")
    tokens, targets = demo.example(name, LETTERS)
    loss = model.loss(tokens, targets)
    loss.backward()

    parameters = [torch.tensor(matrix, requires_grad=True) for matrix in numbers(model)]
    token_table, position_table, Q, K, V, P, W1, W2, U = parameters
    functional, length = torch.nn.functional, len(tokens)
    x = token_table[tokens] + position_table[:length]
    n = functional.rms_norm(x, (16,), eps=1e-5)
    q, k, v = ((n @ W.T).view(length, 4, 4).transpose(0, 1) for W in (Q, K, V))
    heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + heads.transpose(0, 1).reshape(length, 16) @ P.T
    x = x + torch.relu(functional.rms_norm(x, (16,), eps=1e-5) @ W1.T) @ W2.T
    expected = functional.cross_entropy(x @ U.T, torch.tensor(targets))
    expected.backward()

    assert loss.data == pytest.approx(expected.item(), rel=1e-12)
    for found, parameter in zip(numbers(model, "grad"), parameters, strict=True):
        np.testing.assert_allclose(found, parameter.grad, rtol=1e-10, atol=1e-12)
        assert abs(found).max() > 1e-4


# ---- inventing


def scripted(*choices):
    """A stand-in for the model, sure of what follows: the choices in turn, then the last again."""

    def model(token, memory):
        asked.append(token)
        choice = choices[min(len(asked), len(choices)) - 1]
        logits = [Value(9.0 if k == choice else 0.0) for k in range(27)]
        assert (logits[0] * 2.0)._prev == ()  # no graph
        return logits

    asked = []
    return model, asked


@pytest.mark.slow
def test_compiled_and_eager_training_are_the_same(demo):
    examples = [demo.example(name, LETTERS) for name in ("ada", "noah", "eva")]
    losses, parameters = [], []
    for backward_of in (demo.eager_backward, partial(demo.compiled_backward, length=7)):
        random.seed(0)
        model = demo.GPT(tokens=27)
        losses.append(demo.train(model, examples, 3, backward_of(model)))
        parameters.append([p.data for p in model.parameters()])
    np.testing.assert_allclose(losses[1], losses[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(parameters[1], parameters[0], rtol=0, atol=1e-9)


def test_a_name_ends_at_the_token_that_says_so(demo):
    model, asked = scripted(4, 21, 0, END)
    assert demo.invented(model, LETTERS, 0.01, random.Random(0)) == "eva"
    assert asked == [END, 4, 21, 0]


def test_a_name_has_a_letter_at_least_and_fifteen_at_most(demo):
    assert len(demo.invented(scripted(END)[0], LETTERS, 0.01, random.Random(0))) == 1
    assert demo.invented(scripted(0)[0], LETTERS, 0.01, random.Random(0)) == "a" * 15


# ---- names


def test_a_name_becomes_tokens_and_what_follows_them(demo):
    assert demo.example("bad", "abd") == ([3, 1, 0, 2], [1, 0, 2, 3])


def test_files_of_all_kinds_are_read(demo, tmp_path):
    path = tmp_path / "names.txt"
    lines = ["ANNA", "", "  Jos\u00e9 ", "jose\u0301", " ", "mary ann", "\u0141ucja", "a" * 15]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    expected = ["anna", "jos\u00e9", "jos\u00e9", "mary ann", "\u0142ucja", "a" * 15]
    assert demo.read_names(path) == expected


# ---- as a script


@pytest.mark.slow
def test_it_learns_and_invents(tmp_path):
    options = ["--eager", "--steps", "2", "--samples", "3", "--seed"]
    first, second, other = (run(tmp_path, "microgpt", *options, seed) for seed in "778")
    assert first == second != other
    head, loss, *names = first.splitlines()
    assert head == "names: 200, letters: 26, parameters: 4,192"
    assert re.fullmatch(r"loss 3\.\d{3}, by guessing 3\.296", loss)
    assert len(names) == 3
    assert all(re.fullmatch(r"  [a-z]{1,15}(  \(in the list\))?", name) for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--steps -1", "expected --steps of at least 0, got -1"),
        ("--temperature 0", "expected --temperature from 0.01 to 100, got 0.0"),
        ("--input nowhere.txt", "cannot read nowhere.txt: No such file or directory"),
        ("--input empty.txt", "empty.txt has no names: expected one on each line"),
        ("--input latin.txt", "latin.txt is not text in UTF-8: save it in this encoding"),
        ("--input long.txt", "long.txt, line 2: expected a name of at most 15 letters, got 16"),
    ],
)
def test_bad_arguments_fail_at_once(demo, tmp_path, monkeypatch, capsys, arguments, message):
    for name, content in (
        ("empty", b""),
        ("latin", b"jos\xe9"),
        ("long", b"a\n" + b"b" * 16),
    ):
        (tmp_path / f"{name}.txt").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["microgpt.py", *arguments.split()])
    monkeypatch.setattr(demo, "train", lambda *_: pytest.fail("training has begun"))
    with pytest.raises(SystemExit) as end:
        demo.main()
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals are sent in another way")
@pytest.mark.slow
def test_ctrl_c_goes_on_to_inventing(tmp_path):
    options = ["--eager", "--steps", "1000000", "--samples", "2"]
    out, rest = interrupted(tmp_path, "microgpt", *options)
    assert re.search(r"\nstopped after [1-9]\d* steps\n", rest)
    assert len(re.findall(r"^  [a-z]+", out, re.M)) == 2
