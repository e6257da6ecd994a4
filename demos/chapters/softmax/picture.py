"""The picture of the chapter: a drawing of `micrograd`, or one of its pages."""

from micrograd import Value, draw_dot


def picture():
    """The graph of a softmax of two scores."""
    z1, z2 = Value(1.0, label="z1"), Value(2.0, label="z2")
    share = z1.exp() / (z1.exp() + z2.exp())
    share.backward()
    return draw_dot(share, names={"share": share})
