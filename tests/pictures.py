"""Pictures, read through their Mermaid text: the words on the cards, and the arrows."""

import re

import micrograd


def words(text):
    """The lines of a card, without the codes that stand for special characters."""
    text = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), text)
    return text.replace("\xa0", " ").split("<br>")


def picture(root, level="op", **options):
    """The words of each card by its key, in the order of drawing, and the arrows between keys.

    The variables of a test give no names.
    """
    options = {"names": {}} | options
    text = micrograd.mermaid(root, level=level, **options)
    cards = re.findall(r'^    (\w+)\W+"(.*)"', text, re.MULTILINE)
    found = {key: words(shown) for key, shown in cards}
    return found, re.findall(r"^    (\w+) -->(?:\|.\|)? (\w+)$", text, re.MULTILINE)


def names(root, **options):
    """The first words of all cards: the name, or else the operation or the number."""
    return [card[0] for card in picture(root, **options)[0].values()]


def arrows(root, **options):
    """The arrows, as pairs of the first words of their cards."""
    found, pairs = picture(root, **options)
    return [(found[a][0], found[b][0]) for a, b in pairs]


def boxes(root, level, **options):
    """The words of the cards that stand for several operations, without their numbers."""
    found, _ = picture(root, level=level, **options)
    values, _ = picture(root, **options)
    cards = [card for key, card in found.items() if key not in values]
    return [[word for word in card if not word.startswith(("data", "grad"))] for card in cards]


def inputs(root, level="op", **options):
    """The names of the inputs, which have round cards."""
    text = micrograd.mermaid(root, level=level, **{"names": {}} | options)
    return [words(name)[0] for name in re.findall(r'\(\["(.*?)<br>', text)]
