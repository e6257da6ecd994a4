"""`micrograd grade --wrong-engines` writes engines on which teachers try their own tests."""

import pytest
from blocks import python

from micrograd.__main__ import main
from micrograd.grade.wrong_engines import MISTAKES

# A suite as courses have them: one expression, and no number that is used twice in one operation.
SUITE = """
from my_engine import Value

def test_a_neuron():
    x, w, b = Value(2.0), Value(-3.0), Value(1.0)
    o = (x * w + b).tanh()
    o.backward()
    assert abs(x.grad - (1 - o.data**2) * -3.0) < 1e-9
    assert abs(w.grad - (1 - o.data**2) * 2.0) < 1e-9
"""


def tried(folder, engine, code):
    """Runs the suite on this engine."""
    (folder / "my_engine.py").write_text(engine.read_text(encoding="utf-8"), encoding="utf-8")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plug-ins take long to load
    python("-B", "-m", "pytest", "-p", "no:cacheprovider", folder=folder, code=code, **alone)


@pytest.mark.slow
def test_a_suite_lets_mistakes_through(tmp_path, capsys):
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    assert main(["grade", "--wrong-engines", str(tmp_path / "engines")]) == 0
    assert capsys.readouterr().out.startswith(f"{len(MISTAKES)} wrong engines and right.py in ")
    engines = {path.stem: path for path in (tmp_path / "engines").iterdir()}
    assert len(engines) == len(MISTAKES) + 1
    tried(tmp_path, engines["right"], code=0)
    tried(tmp_path, engines["equals_instead_of_plus_equals"], code=0)  # let through
    tried(tmp_path, engines["derivatives_of_times_swapped"], code=1)


def test_the_mistake_is_told_or_left_out(tmp_path):
    assert main(["grade", "--wrong-engines", str(tmp_path / "told")]) == 0
    told = (tmp_path / "told" / "no_seed.py").read_text(encoding="utf-8")
    assert told.startswith("# Wrong: no seed.\n# ")
    assert main(["grade", "--wrong-engines", str(tmp_path / "quiz"), "--hints", "0"]) == 0
    quiz = sorted(path.name for path in (tmp_path / "quiz").iterdir())
    assert quiz == [*(f"engine_{i:02}.py" for i in range(1, len(MISTAKES) + 1)), "right.py"]
    assert "Wrong" not in (tmp_path / "quiz" / "engine_01.py").read_text(encoding="utf-8")


def test_grade_without_a_file_says_what_it_expects(capsys):
    assert main(["grade"]) == 2
    assert "expects a file, such as my_engine.py" in capsys.readouterr().err
