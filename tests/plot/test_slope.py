"""The gradient as the slope of a curve."""

import pytest

from micrograd import Value, plot


def test_the_tangent_has_the_gradient_as_its_slope_and_the_graph_stays_as_it_is():
    x, w = Value(0.25), Value(-2.0)
    loss = (x * w).exp() + x.log()  # not defined for x <= 0
    loss.backward()
    before = [(v.data, v.grad) for v in (x, w, loss)]
    ax = plot.slope(loss, x, move=0.1, reach=0.5)
    curve, tangent, gap = (line.get_xydata() for line in ax.lines)
    left, right = tangent
    assert (right - left)[1] == pytest.approx(x.grad * (right - left)[0])
    defined = [(a, b) for a, b in curve.tolist() if a > 0]
    for a, b in defined[:: len(defined) // 4]:
        assert b == pytest.approx((Value(a) * w).exp().item() + Value(a).log().item())
    assert all(b != b for a, b in curve if a <= 0)
    (_, predicted), (_, actual) = gap - [0, loss.item()]
    assert predicted == pytest.approx(0.1 * x.grad)
    assert actual == pytest.approx(
        ((Value(0.35) * w).exp() + Value(0.35).log()).item() - loss.item()
    )
    assert [(v.data, v.grad) for v in (x, w, loss)] == before
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "loss")
    for wrong in (loss, Value(1.0)):
        with pytest.raises(ValueError, match="a leaf of the graph of loss"):
            plot.slope(loss, wrong)
