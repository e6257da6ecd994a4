"""The pages for a class: what they give away, and that nothing in them can do harm."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from wrong_engines import RIGHT, class_of, mistake

from micrograd.grade import Check, Report, grade
from micrograd.grade.points import POINTS
from micrograd.grade.report import class_page, student_page


def result(name=None, student="Ada", **options):
    source = RIGHT if name is None else mistake(name).source
    return replace(grade(class_of(source)), student=student, **{"page": "ada.html"} | options)


@pytest.fixture(scope="module")
def wrong():
    return result("= instead of +=")


def body(page):
    """What a reader sees of a page, without its styles."""
    return re.sub(r"<style>.*?</style>", "", page, flags=re.S)


def test_each_hint_tells_one_thing_more(wrong):
    pages = [body(student_page(wrong, POINTS, hints)) for hints in range(4)]
    for words, first in {
        "88 of 100 points": 0,
        "Gradients must add up": 1,
        "Each operation computes the right number": 1,
        "b = a + a": 2,
        "a.grad = 2</dd>": 2,
        "<svg": 2,
        "write += instead of =": 3,
    }.items():
        assert [words in page for page in pages] == [hints >= first for hints in range(4)], words
    assert all(len(a) < len(b) for a, b in pairwise(pages))


def test_the_drawing_has_the_wrong_number_in_red_below_the_right_one(wrong):
    page = student_page(wrong, POINTS, 2)
    [drawn] = re.findall(r"<figure.*?</figure>", page, re.S)[:1]
    texts = [text for text in re.findall(r"<text[^>]*>([^<]+)</text>", drawn) if text.strip()]
    a = texts.index("a")
    assert texts[a : a + 7] == ["a", "data", "3", "grad", "2", "found", "1"]
    assert re.findall(r'<text[^>]*fill="#b3182f"[^>]*>([^<]+)</text>', drawn) == ["1"]
    assert " id=" not in drawn


def test_a_right_class_has_a_page_with_notes_only():
    page = body(student_page(result(), POINTS, 3))
    assert "100 of 100 points" in page
    assert "No mistake found" in page
    assert "Note, which costs nothing: A graph may be deeper" in page


def test_hostile_names_and_texts_are_shown_as_text():
    attack = "<script>alert(1)</script>"
    check = Check("file", "loads", attack, "failed", "load", attack, attack, attack)
    bad = Report(attack, (check,), student=attack, page="x.html")
    for page in (student_page(bad, POINTS, 3), class_page([bad], POINTS)):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "script-src 'unsafe-inline'" in page


def test_the_overview_links_to_each_page_and_counts_mistakes(wrong):
    page = class_page([wrong, result(student="Ben", page="ben.html")], POINTS)
    assert re.findall(r'<a href="(.*?)">(.*?)</a>', page) == [
        ("ada.html", "Ada"),
        ("ben.html", "Ben"),
        ("ada.html", "Ada"),  # under the mistake
    ]
    assert "94 of 100 points on average" in page
    assert re.search(r"Gradients must add up.*?</td><td>1</td>", page, re.S)


def test_pages_fit_a_phone(shown, wrong):
    for page in (student_page(wrong, POINTS, 3), class_page([wrong] * 30, POINTS)):
        with shown(page, width=390) as window:
            assert window.evaluate("document.documentElement.scrollWidth") <= 390
