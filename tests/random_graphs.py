"""Random graphs of smooth functions, as hypothesis draws them."""

from hypothesis import strategies as st


def build(leaves, steps, functions):
    """A graph in which every step applies some function to two earlier nodes."""
    nodes = list(leaves)
    for choice, i, j in steps:
        nodes.append(
            functions[choice % len(functions)](nodes[i % len(nodes)], nodes[j % len(nodes)])
        )
    return nodes[-1]


SMOOTH = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b * 0.5,
    lambda a, b: a / (b * b + 1.0),
    lambda a, b: a.tanh() + b,
    lambda a, b: a.sigmoid() * b,
    lambda a, b: a.sin() - b.cos(),
    lambda a, b: (a * a + b * b + 1.0) ** 0.5,
    lambda a, b: (-a).tanh().exp() * b,
    lambda a, b: (a * a + 0.5).log() - b,
]
STEPS = st.lists(st.tuples(*[st.integers(0, 99)] * 3), min_size=1, max_size=12)
POINT = st.lists(st.floats(-2, 2), min_size=3, max_size=3)
