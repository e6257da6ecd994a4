"""The layers of a network, and the maps of its neurons."""

import random

import numpy as np
import pytest
from plotting import X, Y

from micrograd import plot
from micrograd.nn import MLP, Activation, Linear, Sequential
from micrograd.plot.layers import LayeredModel
from micrograd.plot.plane import Plane


def test_layers_are_found_with_their_neurons_and_answers():
    network = Sequential(
        lambda p: [2 * x for x in p], Linear(2, 3, bias=False), Activation("relu"), MLP(3, [2, 1])
    )
    stack = LayeredModel(network)
    assert stack.sizes == [2, 3, 2, 1]
    assert len(stack.numbers("data")) == 3 * 3 + 2 * 4 + 3
    answers = [a.data for a in stack.outputs([0.5, -0.25])]
    hidden = [a.data for a in network.modules[2](network.modules[1]([1.0, -0.5]))]
    assert answers[:3] == hidden
    assert answers[5:] == [network([0.5, -0.25]).data]


@pytest.mark.parametrize(
    "model", [len, Activation("relu"), Sequential(Linear(2, 3), lambda x: x[:2], Linear(2, 1))]
)
def test_models_without_a_chain_of_layers_have_no_picture_of_them(model):
    assert LayeredModel(model).sizes == []
    with pytest.raises(ValueError, match="expected an MLP, or a Sequential with layers"):
        plot.hidden_neurons(model, X, Y)


def test_hidden_neurons_draws_a_map_of_each_neuron_in_columns():
    random.seed(0)
    network = MLP(2, [10, 3, 1], activation="tanh")
    figure = plot.hidden_neurons(network, X, Y, resolution=9)
    maps, scales = figure.axes[:14], figure.axes[14:]
    assert [ax.get_title(loc="left") for ax in maps if ax.get_title(loc="left")] == [
        "layer 1", "layer 2", "output",
    ]  # fmt: skip
    columns = {round(ax.get_position().x0, 3) for ax in maps}
    assert len(columns) == 4  # ten neurons take two
    assert [ax.get_xlabel() for ax in scales] == ["", "", "neuron output"]
    plane = Plane(X, 9)
    third = [network.layers[0](p)[2].data for p in plane.grid.tolist()]
    assert np.allclose(np.ravel(maps[2].images[0].get_array()), third)
    boxes = [ax.get_position() for ax in figure.axes]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    with pytest.raises(ValueError, match="at most 200 neurons, got 300"):
        plot.hidden_neurons(MLP(2, [300]), X, Y)


def test_every_map_of_hidden_neurons_has_the_scale_below_its_layer():
    random.seed(0)
    network = MLP(2, [3, 2, 1])
    for w in network.layers[0].neurons[1].w:
        w.data *= 30.0
    for p in network.layers[1].parameters():
        p.data *= 0.01
    figure = plot.hidden_neurons(network, X, Y, resolution=5)
    stack, plane = LayeredModel(network), Plane(X, 5)
    answers = np.array([[a.data for a in stack.outputs(p)] for p in plane.grid.tolist()]).T
    layers = np.split(answers, [3, 5])
    maps, scales = figure.axes[:6], figure.axes[6:]
    assert abs(layers[0]).max() > 10
    assert abs(layers[1]).max() < 1
    for ax, expected in zip(maps, answers, strict=True):
        assert np.allclose(np.ravel(ax.images[0].get_array()), expected)
    of_layer = np.split(np.array(maps), [3, 5])
    for scale, axes, found in zip(scales, of_layer, layers, strict=True):
        largest = max(1.0, abs(found).max())
        assert scale.get_xlim() == pytest.approx((-largest, largest))
        ticks = [float(label.get_text().replace("\N{MINUS SIGN}", "-"))
                 for label in scale.get_xticklabels()]  # fmt: skip
        assert ticks == pytest.approx([-largest, 0.0, largest], rel=5e-3)
        for ax in axes:
            assert ax.images[0].get_clim() == pytest.approx((-largest, largest))
            below, position = scale.get_position(), ax.get_position()
            assert below.y1 < position.y0
            assert (below.x0, below.x1) == pytest.approx((position.x0, position.x1))
