"""Why backpropagation needs a topological order, and how many such orders a graph has.

A node may pass its gradient on only when that gradient is complete, that is, after all nodes that
use it. The first graph is

    a    b    c = a + b    d = 2 c    e = c - 1    f = d / e    g = f^2    loss = g - target

The level of a leaf is 0. The level of any other node is one more than the highest level of its
operands. Nodes that do not depend on each other may be in either order, here a and b, and d and e.
Without constants this gives 2 * 2 = 4 orders, and all of them give the same gradients.

The second graph is b = -a, c = b + b. Plain recursion along the edges, without an order, visits b
twice and passes its whole gradient on twice. So d c / d a is wrong. Takes less than a second.
"""

from itertools import permutations

from micrograd import Value, topological_order
from micrograd.draw.graph import levels, topological_orders
from micrograd.engine import Constant


def article_graph():
    """The loss of the first graph, with labelled nodes."""
    a, b = Value(2.0, label="a"), Value(1.0, label="b")
    c = a + b
    d = 2 * c
    e = c - 1
    f = d / e
    g = f**2
    loss = g - 5.0
    for name, node in zip("cdefg", (c, d, e, f, g), strict=True):
        node.label = name
    loss.label = "loss"
    return loss


def variables(root):
    """The nodes of a graph that are not constants."""
    return [node for node in topological_order(root) if not isinstance(node, Constant)]


def orders_by_trial(root):
    """The number of permutations of the nodes with all operands before their results."""
    nodes = variables(root)
    place = {node: i for i, node in enumerate(nodes)}
    edges = [(place[u], place[v]) for v in nodes for u in v._prev if u in place]
    return sum(
        all(position[u] < position[v] for u, v in edges)
        for position in permutations(range(len(nodes)))
    )


def gradients_along(order):
    """The gradients by name, from the closures along the order, starting at its end."""
    for node in order:
        node.grad = 0
    order[-1].grad = 1
    for node in reversed(order):
        node._backward()
    return {node.label: node.grad for node in order}


def gradient_by_hand(a, b):
    """The derivative of the loss with respect to a, and to b: 2 f df/dc, f = 2 c / (c - 1)."""
    c = a + b
    return 2 * (2 * c / (c - 1)) * -2 / (c - 1) ** 2


def diamond():
    """The leaf and the root of the second graph: b = -a, c = b + b."""
    a = Value(3.0)
    b = -a
    return a, b + b


def recurse(node):
    """Goes backward without an order: each visit passes on the node's whole gradient so far."""
    node._backward()
    for operand in node._prev:
        recurse(operand)


def gradient_by_recursion():
    """The wrong derivative d c / d a of the second graph, from plain recursion."""
    a, c = diamond()
    c.grad = 1
    recurse(c)
    return a.grad


def gradient_by_order():
    """The derivative d c / d a of the second graph, along a topological order."""
    a, c = diamond()
    c.backward()
    return a.grad


def main():
    """Prints the levels and orders of the first graph, and both gradients of the second."""
    loss = article_graph()
    level_of = levels(loss)
    print("level  nodes")
    for level in range(level_of[loss] + 1):
        names = [node.label for node in variables(loss) if level_of[node] == level]
        print(f"{level:>5}  {' '.join(names)}")

    orders = list(topological_orders(loss))
    print(f"\n{'order':32}{'d loss/da':>10}{'d loss/db':>10}")
    for order in orders:
        gradients = gradients_along(order)
        names = " ".join(node.label for node in order)
        print(f"{names:32}{gradients['a']:>10g}{gradients['b']:>10g}")
    by_hand = gradient_by_hand(a=2.0, b=1.0)
    print(f"{'by hand':32}{by_hand:>10g}{by_hand:>10g}")

    expected = orders_by_trial(loss)
    print(f"\n{'':32}{'found':>10}{'reference':>10}{'difference':>12}")
    print(f"{'topological orders':32}{len(orders):>10}{expected:>10}{len(orders) - expected:>12}")
    print("(The reference tries all 8! = 40,320 permutations.")
    print("The article with this graph lists three.)")

    exact = -2.0  # c = -2 a
    print(f"\n{'d c/d a of b = -a, c = b + b':32}{'found':>10}{'reference':>10}{'difference':>12}")
    for name, found in (
        ("along a topological order", gradient_by_order()),
        ("plain recursion, edge by edge", gradient_by_recursion()),
    ):
        print(f"{name:32}{found:>10g}{exact:>10g}{found - exact:>12g}")


if __name__ == "__main__":
    main()
