"""Backpropagation in stages: one graph, drawn after each operation, forward and backward.

    python demos/stages.py
    python demos/stages.py --out-dir pictures

The script follows W. Beckman, "Backpropagation - re-writing Micrograd" (2023). Its parts:

    a graph      c = 2 a + b: the derivatives are written in one after the other, dc/da = 2 and
                 dc/db = 1. All pictures have the size of the last one, so they make slides
    the rule     a car is twice as fast as a bicycle, and a bicycle four times as fast as a walker,
                 so the car is 8 times as fast: local derivative times the gradient that flows back
    a network    h = ReLU(w1 x1 + w2 x2 + b), twice, then a sum: neurons are triggered layer by
                 layer, and dh1/dw1 = x1 = 2

The pictures are graph-0.svg, graph-1.svg, ... and network-0.svg, network-1.svg, ...
"""

from pathlib import Path

from table import arguments, print_table

from micrograd import MLP, Value, draw_dot, draw_network


def weighted_sum():
    """The Values of c = 2 a + b, by name."""
    a, b = Value(3.0, label="a"), Value(4.0, label="b")
    double = 2 * a
    c = double + b
    double.label, c.label = "2a", "c"
    return {"a": a, "b": b, "2a": double, "c": c}


def stages(root, operations):
    """A drawing before the backward pass, at its start, and after each operation.

    `operations` are in the order of the backward pass. The gradients end as after `backward()`.
    """
    root.backward()
    last = draw_dot(root, edges="derivatives")
    for node in (*operations, *(operand for o in operations for operand in o._prev)):
        node.grad = 0.0
    drawn = [draw_dot(root, edges="derivatives", frame=last)]
    root.grad = 1.0
    done = []
    for node in operations:
        node._backward()
        done.append(node)
        drawn.append(draw_dot(root, edges="derivatives", frame=last, done=done))
    return [*drawn, last]


def speeds():
    """How fast bicycle and car are, as derivatives with respect to the walker's speed."""
    walker = Value(1.0)
    bicycle = 4 * walker
    car = 2 * bicycle
    car.backward()
    return bicycle.grad, walker.grad


def network():
    """A network of 2 inputs, 2 ReLU neurons and their weighted sum, with weights set by hand."""
    model = MLP(2, [2, 1])
    hidden, output = model.layers
    rows = [[1.0, -1.0], [-0.5, 0.25], [1.0, 2.0]]
    for neuron, weights in zip([*hidden.neurons, *output.neurons], rows, strict=True):
        neuron.b.data = 0.0
        for weight, number in zip(neuron.w, weights, strict=True):
            weight.data = number
    return model


def main():
    """Prints the derivatives beside those of the article, and draws all stages."""
    folder = Path(arguments(__doc__).out_dir)

    nodes = weighted_sum()
    for i, drawing in enumerate(stages(nodes["c"], [nodes["c"], nodes["2a"]])):
        drawing.save(folder / f"graph-{i}.svg")
    rows = [("dc/da", 2, nodes["a"].grad), ("dc/db", 1, nodes["b"].grad)]
    print_table("c = 2 a + b", rows)

    car_to_bicycle, car_to_walker = speeds()
    rows = [("car to bicycle", 2, car_to_bicycle), ("car to walker", 8, car_to_walker)]
    print_table("Speeds", rows)

    model, x = network(), [2.0, 1.0]
    for done in range(3):
        draw_network(model, x, done=done).save(folder / f"network-{done}.svg")
    first = model.layers[0].neurons[0]
    h1 = first(x)
    h1.backward()
    print_table("A network", [("h1", None, h1.data), ("dh1/dw1", 2, first.w[0].grad)])


if __name__ == "__main__":
    main()
