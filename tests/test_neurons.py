"""The layers of a network, and the maps of its neurons."""

import random

import numpy as np
import pytest
from plotting import X, Y

from micrograd import plot
from micrograd.nn import MLP, Activation, Linear, Sequential
from micrograd.plot.neurons import LayeredModel


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
    network = MLP(2, [4, 3, 1], activation="tanh")
    figure = plot.hidden_neurons(network, X, Y, resolution=9)
    figure.draw_without_rendering()
    maps = figure.axes
    assert [ax.get_title(loc="left") for ax in maps if ax.get_title(loc="left")] == [
        "layer 1", "layer 2", "output",
    ]  # fmt: skip
    assert len(maps) == 8
    assert len({round(ax.get_position().x0, 3) for ax in maps}) == 3
    image = maps[2].images[0]
    left, right, bottom, top = image.get_extent()
    outputs = np.asarray(image.get_array())
    middle = [(left + right) / 2, (bottom + top) / 2]
    rows, columns = outputs.shape
    found = outputs[rows // 2 - 1 : rows // 2 + 1, columns // 2 - 1 : columns // 2 + 1].mean()
    assert found == pytest.approx(network.layers[0](middle)[2].data, abs=0.05)
    boxes = [ax.get_tightbbox() for ax in maps]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_the_maps_of_a_layer_have_the_scale_below_them():
    random.seed(0)
    network = MLP(2, [3, 2, 1])
    for w in network.layers[0].neurons[1].w:
        w.data *= 30.0
    for p in network.layers[1].parameters():
        p.data *= 0.01
    maps = plot.hidden_neurons(network, X, Y, resolution=5).axes
    most = [max(abs(np.asarray(ax.images[0].get_array())).max() for ax in layer)
            for layer in (maps[:3], maps[3:5], maps[5:])]  # fmt: skip
    assert most[0] > 10
    assert most[1] < 1
    for layer, largest in zip((maps[:3], maps[3:5], maps[5:]), most, strict=True):
        largest = max(1.0, largest)
        for ax in layer:
            assert ax.images[0].get_clim() == pytest.approx((-largest, largest))
        (scale,) = layer[-1].child_axes
        assert scale.get_xlim() == pytest.approx((-largest, largest))
        ticks = [float(label.get_text().replace("\N{MINUS SIGN}", "-"))
                 for label in scale.get_xticklabels()]  # fmt: skip
        assert ticks == pytest.approx([-largest, 0.0, largest], rel=5e-3)
