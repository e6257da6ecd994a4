"""The layers of a network."""

import pytest

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
