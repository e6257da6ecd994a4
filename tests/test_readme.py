"""The README keeps its word: its examples run, its commands and pictures exist."""

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


@pytest.fixture
def elsewhere(tmp_path):
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def test_examples_print_what_they_say(elsewhere):
    failed, attempted = doctest.testfile(str(README), module_relative=False)
    assert attempted > 5
    assert failed == 0
    assert "<svg" in (elsewhere / "neuron.svg").read_text(encoding="utf-8")


def test_there_are_two_commands():
    commands = re.findall(r"^```sh\n(.*?)\n```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert [re.split(r" && ", command)[-1] for command in commands] == [
        "python demos/decision_boundary.py",
        "python -m pytest",
    ]


def test_pictures_and_files_it_names_exist():
    text = README.read_text(encoding="utf-8")
    named = re.findall(r"!\[.*?\]\((.*?)\)", text) + re.findall(
        r"`((?:micrograd|demos)/\S*?)`", text
    )
    assert len(named) > 8
    for path in named:
        assert (ROOT / path).exists(), path
