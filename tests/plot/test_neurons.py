"""The layers of a network, of which a recorded run shows weights and outputs."""

import pytest
from plotting import X, Y, data_of

from micrograd import plot
from micrograd.nn import MLP, Activation, Linear, Sequential


def test_layers_are_found_with_their_neurons_and_weights():
    network = Sequential(
        lambda p: [2 * x for x in p], Linear(2, 3, bias=False), Activation("relu"), MLP(3, [2, 1])
    )
    history = plot.animate(network, X, Y)
    assert data_of(history.page().html)["sizes"] == [2, 3, 2, 1]
    (frame,) = history.all_frames()
    assert len(frame.weights) == 3 * 3 + 2 * 4 + 3
    assert frame.maps.shape[1] == 3 + 2 + 1
    assert (frame.maps[:, :3] >= 0).all()  # after the activation


@pytest.mark.parametrize(
    "model", [lambda x: x[0], Sequential(Linear(2, 3), lambda x: x[:2], Linear(2, 1))]
)
def test_models_without_a_chain_of_layers_have_no_picture_of_them(model):
    assert data_of(plot.animate(model, X, Y).page().html)["sizes"] == []
