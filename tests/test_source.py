"""Names in a program's text."""

import keyword

from hypothesis import given
from hypothesis import strategies as st

from micrograd.compiler.text import TAKEN, identifiers
from micrograd.core.naming import distinct


@given(st.lists(st.text('aλ1_ -é\n"', max_size=5) | st.sampled_from(["w", "w_2", "exp", "class"])))
def test_any_labels_become_distinct_identifiers(labels):
    names = identifiers(labels)
    assert len(names) == len(labels) == len(set(names))
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert not TAKEN & set(names)


def test_a_number_is_not_added_where_the_user_has_chosen_that_name():
    assert distinct(["w", "w", "w_2"], "{}_{}") == ["w", "w_3", "w_2"]
    assert distinct(["w", "x"], "{}_{}", taken=["w"]) == ["w_2", "x"]
