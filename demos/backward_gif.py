"""A film of backpropagation: gradients move from the result of a neuron back to its leaves.

    python demos/backward_gif.py
    python demos/backward_gif.py --dark --out backward-dark.gif

The neuron is the one in the lecture, o = tanh(x1 w1 + x2 w2 + b). In each step, one node passes on
its gradient to its operands: the arrows between them turn round, and each operand adds local
derivative times upstream gradient to its own gradient. A gradient that is not known yet is shown as
a dot. Cards that have passed on their gradient are solid.

The film of any other graph: `explain(result).save("backward.gif")`.
"""

import argparse

from micrograd import Value, explain
from micrograd.plot import check_path


def neuron() -> Value:
    """The result of the lecture's neuron; every step of the sum has a name."""
    x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
    w1, w2 = Value(-3.0, label="w1"), Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    x1w1, x2w2 = x1 * w1, x2 * w2
    both = x1w1 + x2w2
    n = both + b
    o = n.tanh()
    x1w1.label, x2w2.label, both.label, n.label, o.label = "x1w1", "x2w2", "x1w1 + x2w2", "n", "o"
    return o


def main() -> None:
    """Draws the film into a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", default="backward.gif", metavar="FILE", help="(backward.gif)")
    parser.add_argument("--dark", action="store_true", help="draw on a dark background")
    options = parser.parse_args()
    try:
        check_path(options.out, ["gif"])
    except (ValueError, OSError) as error:
        parser.error(str(error))
    explain(neuron()).save(options.out, dark=options.dark)
    print(f"film in {options.out}")


if __name__ == "__main__":
    main()
