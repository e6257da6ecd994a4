"""Writes a page that steps through a neuron, forward and backward.

    python demos/explain_neuron.py
    python demos/explain_neuron.py --diamond --out diamond.html

The page shows the neuron of the lecture, o = tanh(x1 w1 + x2 w2 + b), as one HTML file for any
browser: step through it with the arrow keys, turn and nudge its weights, take steps down the
gradient. With --diamond the page shows r = p q + q with p = a^2 and q = p + a. There, nodes are
used more than once, so the classic mistakes matter: = instead of +=, no topological order.
"""

import argparse

from micrograd import Value, explain
from micrograd.pages.page import Page


def neuron() -> Page:
    """The page of a neuron."""
    x1, x2 = Value(2.0), Value(0.0)
    w1, w2 = Value(-3.0), Value(1.0)
    b = Value(6.8813735870195432)
    x1w1 = x1 * w1
    x2w2 = x2 * w2
    total = x1w1 + x2w2
    n = total + b
    o = n.tanh()
    return explain(o, title="A neuron, step by step", parameters=[w1, w2, b])


def diamond() -> Page:
    """The page of a graph with two diamonds."""
    a = Value(3.0)
    p = a * a
    q = p + a
    r = p * q + q
    return explain(r, title="Nodes that are used twice")


def main() -> None:
    """Writes one of the two pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--diamond", action="store_true", help="the graph with two diamonds")
    parser.add_argument("--out", default="backprop.html", metavar="FILE", help="(backprop.html)")
    options = parser.parse_args()
    page = diamond() if options.diamond else neuron()
    try:
        print(f"{page.save(options.out)}: open it in any browser")
    except OSError as error:
        parser.error(f"cannot write {options.out}: {error.strerror or error}")
    except ValueError as error:  # the name does not end in .html
        parser.error(str(error))


if __name__ == "__main__":
    main()
