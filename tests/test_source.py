"""Pieces of program text: brackets, numbers, names."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd.compiler.text import ATOM, SUM, TAKEN, identifiers, operation, simple
from micrograd.core.naming import distinct

a, b, c = ((name, ATOM) for name in "abc")


@pytest.mark.parametrize(
    ("op", "operands", "text"),
    [
        ("-", [operation("-", [a, b]), c], "a - b - c"),
        ("-", [a, operation("-", [b, c])], "a - (b - c)"),
        ("*", [operation("neg", [a]), operation("neg", [b])], "-a * -b"),
        ("**", [operation("neg", [a]), operation("*", [b, c])], "(-a) ** (b * c)"),
        ("**", [simple("-2.0"), simple("-3")], "(-2.0) ** -3"),
        ("neg", [operation("**", [a, b])], "-(a ** b)"),
        ("neg", [simple("-1.0")], "-(-1.0)"),
        ("where", [operation("<", [a, b]), ("b + c", SUM), c], "where(a < b, b + c, c)"),
    ],
)
def test_brackets_are_written_where_they_matter(op, operands, text):
    assert operation(op, operands)[0] == text


@given(st.lists(st.text('aλ1_ -é\n"', max_size=5) | st.sampled_from(["w", "w_2", "exp", "class"])))
def test_any_labels_become_distinct_identifiers(labels):
    names = identifiers(labels)
    assert len(names) == len(labels) == len(set(names))
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert not TAKEN & set(names)


def test_a_number_is_not_added_where_the_user_has_chosen_that_name():
    assert distinct(["w", "w", "w_2"], "{}_{}") == ["w", "w_3", "w_2"]
    assert distinct(["w", "x"], "{}_{}", taken=["w"]) == ["w_2", "x"]
