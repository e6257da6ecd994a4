"""`pytest --micrograd my_engine.py`: each check of `micrograd.grade` is a test with its name."""

from __future__ import annotations

import pytest

from micrograd.grade.process import grade_file
from micrograd.grade.programs import Check

OPTIONS = {
    "--micrograd": "the Value class in this file",
    "--micrograd-network": "Neuron, Layer, MLP, a loss and a training function in this file",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    for option, what in OPTIONS.items():
        parser.getgroup("micrograd").addoption(option, metavar="FILE", help=f"also check {what}")


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Adds a test for each check."""
    for option in OPTIONS:
        if not (path := session.config.getoption(option)):
            continue
        try:
            checks = grade_file(path, network=option.endswith("network")).checks
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"{option} {path}: {error}") from None
        for check in checks:
            item = Graded.from_parent(session, name=check.name, nodeid=f"{path}::{check.name}")
            item.check = check
            items.append(item)


class Graded(pytest.Item):
    """One check of a class; a note or an operation that is not there yet is skipped."""

    check: Check

    def runtest(self) -> None:
        """Fails with the rule, the program, what was expected and found, and the fix."""
        status = self.check.status
        if status in ("noted", "not there yet"):
            pytest.skip(self.check.message if self.check.mistake else status)
        if status != "passed":
            pytest.fail(self.check.message if self.check.mistake else status, pytrace=False)
