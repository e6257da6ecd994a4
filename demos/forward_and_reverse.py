"""Forward mode and reverse mode, node by node.

The function f(x, y) = 3 x^2 + x y + 5 y^2 at (2, 3), in steps of one operation each:

    a = x^2    b = x y    c = y^2    d = 3 a    e = 5 c    s = d + b    f = s + e

Forward mode walks from the inputs to the result. For each node it computes the derivative with
respect to one input (the tangent of the node), so it takes one walk for each input. Reverse mode
walks from the result to the inputs. For each node it computes the derivative of the result with
respect to that node (its adjoint), so a single walk gives the derivatives with respect to all
inputs. That is why networks are trained with reverse mode.

    tangent(node)  =  sum over its operands of  local derivative * tangent(operand)
    adjoint(node)  =  sum over its users of     local derivative * adjoint(user)

By hand, df/dx = 6 x + y and df/dy = x + 10 y. Takes less than a second.

With --pictures FOLDER it also draws both walks. forward.svg has tangents in the cards, and on each
arrow local derivative x tangent of the operand. reverse.svg has gradients in the cards, and on each
arrow local derivative x upstream gradient; its arrows point in the direction of the gradients.
"""

import argparse
from pathlib import Path

from micrograd import Value, draw_dot
from micrograd.derivatives import count_passes, jvp, sum_over_paths

FORMULAS = {
    "x": "input",
    "y": "input",
    "a": "x^2",
    "b": "x y",
    "c": "y^2",
    "d": "3 a",
    "e": "5 c",
    "s": "d + b",
    "f": "s + e",
}


def nodes_at(x, y):
    """The nodes of the function by name, operands before results."""
    x, y = Value(x), Value(y)
    a, b, c = x**2, x * y, y**2
    d, e = 3 * a, 5 * c
    s = d + b
    f = s + e
    nodes = dict(zip("xyabcdesf", (x, y, a, b, c, d, e, s, f), strict=True))
    for name, node in nodes.items():
        node.label = name
    return nodes


def tangents(nodes, variable):
    """Forward mode: d node / d input for all nodes, from one walk."""
    return dict(zip(nodes, jvp(list(nodes.values()), {nodes[variable]: 1.0}), strict=True))


def adjoints(nodes, result="f"):
    """Reverse mode: d result / d node for all nodes, from one walk."""
    nodes[result].backward()
    return {name: node.grad for name, node in nodes.items()}


def pictures(folder, x, y):
    """The paths of both pictures: forward mode along x, and reverse mode."""
    nodes = nodes_at(x, y)
    forward = draw_dot(nodes["f"], edges="derivatives", tangents={nodes["x"]: 1.0})
    adjoints(nodes)
    reverse = draw_dot(nodes["f"], edges="derivatives")
    reverse.edge_attr["dir"] = "back"
    return [
        picture.render(outfile=Path(folder) / name, cleanup=True)
        for picture, name in ((forward, "forward.svg"), (reverse, "reverse.svg"))
    ]


def by_hand(x, y):
    """The value and both derivatives, from the formulas."""
    return {"f": 3 * x**2 + x * y + 5 * y**2, "df/dx": 6 * x + y, "df/dy": x + 10 * y}


def main():
    """Prints both modes and their cost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pictures", metavar="FOLDER", help="also draw both walks")
    options = parser.parse_args()
    if options.pictures and not Path(options.pictures).is_dir():
        parser.error(f"--pictures expects an existing folder, got {options.pictures!r}")
    x, y = 2.0, 3.0
    nodes = nodes_at(x, y)
    forward = {"x": tangents(nodes, "x"), "y": tangents(nodes, "y")}
    reverse = adjoints(nodes)

    print("Forward mode, from the inputs: one walk for each input")
    print(f"  node  {'formula':<9}{'value':>7}{'d node/dx':>12}{'d node/dy':>12}")
    for name, node in nodes.items():
        row = "".join(f"{forward[variable][name]:>12g}" for variable in "xy")
        print(f"  {name:<6}{FORMULAS[name]:<9}{node.data:>7g}{row}")

    print("\nReverse mode, from the result: a single walk")
    print(f"  node  {'formula':<9}{'value':>7}{'df/d node':>12}")
    for name, node in reversed(nodes.items()):
        print(f"  {name:<6}{FORMULAS[name]:<9}{node.data:>7g}{reverse[name]:>12g}")

    print("\nThe cost of the derivatives with respect to both inputs")
    print(count_passes(nodes["f"], [nodes["x"], nodes["y"]]))

    print("\nBoth modes add up the same paths")
    print(sum_over_paths(nodes["f"], nodes["x"]))
    print(sum_over_paths(nodes["f"], nodes["y"]))

    results = {
        "f": (nodes["f"].data, nodes["f"].data),
        "df/dx": (forward["x"]["f"], reverse["x"]),
        "df/dy": (forward["y"]["f"], reverse["y"]),
    }
    print(f"\n{'':8}{'forward':>10}{'reverse':>10}{'by hand':>10}{'difference':>12}")
    for name, reference in by_hand(x, y).items():
        difference = max(abs(result - reference) for result in results[name])
        row = "".join(f"{result:>10g}" for result in results[name])
        print(f"{name:8}{row}{reference:>10g}{difference:>12g}")
    if options.pictures:
        print("\npictures in", *pictures(options.pictures, x, y))


if __name__ == "__main__":
    main()
