"""Lessons by breaking things: the broken engines really compute the wrong numbers."""

import pytest
from demo_scripts import load, run

# By hand, and of the wrong engine what its one wrong line comes to.
NUMBERS = [
    ({"s": 6, "ds/da": 2}, {"ds/da": 1}),
    (
        {"d": 6, "dd/db": -5, "dd/da": 5, "dd/da of d = c + b": 5},  # d = a^2 - a
        {"dd/da": -1},
    ),
    (
        {
            "gradient in step 1": 2,
            "w after step 1": 0.5,
            "gradient in step 2": 1,
            "w after step 2": 0.25,
            "gradient in step 3": 0.5,
        },
        {"gradient in step 2": 3, "w after step 2": -0.25, "gradient in step 3": 2.5},
    ),
    ({"s": -2, "ds/da": -1}, {"s": 2, "ds/da": 1}),
    ({"s": 9, "ds/da": 6, "arrows into s": 2}, {"ds/da": 3, "arrows into s": 1}),
]


@pytest.fixture(scope="module")
def demo():
    return load("break_it")


@pytest.mark.parametrize("i", range(5))
def test_right_and_wrong_numbers(demo, i):
    lesson, (expected, changed) = demo.LESSONS[i], NUMBERS[i]
    right, _ = lesson.example(lesson.right)
    wrong, _ = lesson.example(lesson.wrong)
    assert right == expected
    assert wrong == expected | changed


def test_it_prints_the_lessons_and_writes_nothing_unasked(tmp_path):
    out = run(tmp_path, "break_it")
    assert "ds/da                        2       1  <--" in out
    assert out.count("<--") == 1 + 1 + 3 + 2 + 2
    assert list(tmp_path.iterdir()) == []


def test_one_lesson_and_its_answer_on_demand(tmp_path):
    asked = run(tmp_path, "break_it", "--lesson", "2")
    assert asked.startswith("Lesson 2: b = -a")
    assert "topological" not in asked
    assert asked.endswith("For the answers, add --answers.\n")
    answered = run(tmp_path, "break_it", "--lesson", "2", "--answers")
    assert answered.startswith(asked.partition("\n\n\n")[0])
    assert "2. No topological order" in answered
    assert "passes its gradient on to a" in " ".join(answered.split())
    assert "invalid choice" in run(tmp_path, "break_it", "--lesson", "6", code=2)


def test_on_a_terminal_enter_shows_the_answer(demo, monkeypatch, capsys):
    shown_before = []
    monkeypatch.setattr("sys.argv", ["break_it.py", "--lesson", "1"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: shown_before.append(capsys.readouterr().out))
    demo.main()
    assert "Which line is wrong" in shown_before[0]
    assert "+=" not in shown_before[0]
    assert "self.grad += out.grad" in capsys.readouterr().out


@pytest.mark.slow
def test_out_is_a_folder_of_pictures(tmp_path):
    run(tmp_path, "break_it", "--out", "new/pictures")
    names = sorted(path.name for path in (tmp_path / "new" / "pictures").iterdir())
    assert names == [f"{i}.svg" for i in range(1, 6)]
