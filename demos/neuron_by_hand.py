"""Backpropagation by hand, from one expression to a neuron and the order of its nodes.

    python demos/neuron_by_hand.py
    python demos/neuron_by_hand.py --out-dir pictures

The script follows articles that explain micrograd's `Value` with two graphs from the lecture
https://www.youtube.com/watch?v=VMj-3S1tku0: an expression, and a neuron.

    L = (a b + c) f                  at a = 2, b = -3, c = 10, f = -2
    o = tanh(x1 w1 + x2 w2 + b)      at x1 = 2, x2 = 0, w1 = -3, w2 = 1, b = 6.88...

First the closures are called by hand, one by one. Then `backward()` does the same in topological
order. The last table shows why gradients are added up: a node that is used twice receives two
contributions. The script takes less than a second and writes expression.svg and neuron.svg.
"""

from pathlib import Path

from table import arguments, print_table

from micrograd import Value, draw_dot, topological_order


def expression():
    """The Values of the first graph by name, after the backward pass."""
    a, b, c, f = Value(2.0), Value(-3.0), Value(10.0), Value(-2.0)
    e = a * b
    d = e + c
    L = d * f
    L.backward()
    return {"a": a, "b": b, "c": c, "f": f, "e": e, "d": d, "L": L}


def neuron():
    """The Values of the neuron by name, without gradients, operands before results."""
    x1, x2, w1, w2 = Value(2.0), Value(0.0), Value(-3.0), Value(1.0)
    b = Value(6.8813735870195432)
    x1w1, x2w2 = x1 * w1, x2 * w2
    total = x1w1 + x2w2
    n = total + b
    o = n.tanh()
    return {
        "x1": x1, "w1": w1, "x2": x2, "w2": w2, "b": b,
        "x1w1": x1w1, "x2w2": x2w2, "total": total, "n": n, "o": o,
    }  # fmt: skip


def gradients(nodes):
    """The gradients by name."""
    return {name: node.grad for name, node in nodes.items()}


def difference(some, others):
    """The largest difference between two sets of gradients."""
    return max(abs(some[name] - others[name]) for name in some)


def by_hand():
    """The gradients from one call of each closure, the result first."""
    nodes = neuron()
    nodes["o"].grad = 1.0
    for name in ("o", "n", "total", "x2w2", "x1w1"):
        nodes[name]._backward()  # passes on the node's gradient to its operands
    return gradients(nodes)


def in_pieces():
    """The gradients if tanh is computed from exp and arithmetic."""
    nodes = neuron()
    e = (2 * nodes["n"]).exp()
    nodes["o"] = (e - 1) / (e + 1)
    nodes["o"].backward()
    return gradients(nodes)


def used_twice():
    """The gradients of b = a + a, and of f = (a b) (a + b)."""
    a = Value(3.0)
    (a + a).backward()
    p, q = Value(-2.0), Value(3.0)
    ((p * q) * (p + q)).backward()
    return {"a": a.grad, "p": p.grad, "q": q.grad}


def main():
    """Prints the article's numbers beside ours, and draws both graphs."""
    folder = Path(arguments(__doc__).out_dir)
    names = expression()
    grads = gradients(names)
    print_table("An expression", [
        ("L", -8, names["L"].data),
        ("dL/df, dL/dd", "4, -2", f"{grads['f']:g}, {grads['d']:g}"),
        ("dL/dc, dL/de", "-2, -2", f"{grads['c']:g}, {grads['e']:g}"),
        ("dL/da, dL/db", "6, -4", f"{grads['a']:g}, {grads['b']:g}"),
    ])  # fmt: skip
    draw_dot(names["L"], names=names, edges="derivatives").save(folder / "expression.svg")

    nodes, hand, pieces = neuron(), by_hand(), in_pieces()
    nodes["o"].backward()
    found = gradients(nodes)
    print_table("A neuron, one closure after the other", [
        ("n", "0.8814", f"{nodes['n'].data:.4f}"),
        ("o", "0.7071", f"{nodes['o'].data:.4f}"),
        ("do/dn", 0.5, hand["n"]),
        ("do/dx1, do/dw1", "-1.5, 1", f"{hand['x1']:.4g}, {hand['w1']:.4g}"),
        ("do/dx2, do/dw2", "0.5, 0", f"{hand['x2']:.4g}, {hand['w2']:.4g}"),
        ("do/db", 0.5, hand["b"]),
        ("largest difference from backward()", None, difference(hand, found)),
        ("from tanh n = (e^2n - 1) / (e^2n + 1)", None, difference(pieces, found)),
    ])  # fmt: skip
    draw_dot(nodes["o"], names=nodes, edges="derivatives").save(folder / "neuron.svg")

    name_of = {node: name for name, node in nodes.items()}
    order = [name_of[node] for node in reversed(topological_order(nodes["o"]))]
    print("\nbackward() calls the closures in this order:", *order)

    twice = used_twice()
    print_table("Nodes that are used twice", [
        ("db/da of b = a + a at 3", 2, twice["a"]),
        ("df/da of f = (a b) (a + b) at (-2, 3)", -3, twice["p"]),
        ("df/db", -8, twice["q"]),
    ])  # fmt: skip
    print(f"\npictures in {folder}: expression.svg neuron.svg")


if __name__ == "__main__":
    main()
