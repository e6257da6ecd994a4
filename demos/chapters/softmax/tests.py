"""What the chapter asks for: the tests run in this order, up to the first that fails."""


def test_sum(check):
    """The numbers that softmax returns add up to 1.

    Divide each `math.exp(z)` by the sum of all of them.
    """
    check("sum(softmax([1.0, 2.0, 3.0]))", 1.0)


def test_shares(check):
    """A score that is larger by 1 has a share that is e times as large.

    Take `math.exp` of each score before you divide.
    """
    check("softmax([0.0, 1.0])", [0.2689414, 0.7310586])
    check("len(softmax([0.0] * 7))", 7)
