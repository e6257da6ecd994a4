"""Backpropagation in directed acyclic graphs: possible orders of the nodes, and the cost.

    python demos/orders_and_cost.py
    python demos/orders_and_cost.py --largest 1000000 --out-dir pictures

The script follows the essay "On Backprop Implementation" (2024). A node may pass on its gradient
only when that gradient is complete, that is, after all nodes that use it. The essay's graph is

    a    b    c = a + b    d = 2 c    e = c - 1    f = d / e    g = f^2    loss = g - target

The level of a leaf is 0. The level of any other node is one more than the highest level of its
operands. Nodes that do not depend on each other may come in either order: here, a and b can be
swapped, and so can d and e. Without constants this gives 2 * 2 = 4 orders (the essay lists three of
them). All of them give the same gradients, such as dloss/da = 2 f df/dc = -3 at a = 2, b = 1.

Plain recursion along the arrows, without an order, visits a node once for each arrow that leaves
it. In b = -a, c = b + b it visits b twice, and each visit passes on the whole gradient of b. So it
gives dc/da = -4 instead of -2.

With an order, the forward pass creates each of the V nodes once, and the backward pass visits each
node and each of the E arrows once. So time and memory are proportional to V + E, which gives
straight lines of slope 1 in a log-log plot. They are measured on chains of y = y x + x, without
Python's cyclic garbage collector, which walks through all objects again and again while a graph is
built. `tracemalloc` measures memory in separate runs, because it slows everything down. The script
takes about 5 seconds, or 20 with a million nodes, and writes orders.svg, orders.mmd
(Mermaid text, with the essay's four frames) and cost.png.
"""

import gc
import sys
import time
import tracemalloc
from itertools import permutations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from table import arguments, positive, print_table
from tqdm import tqdm

from micrograd import Value, draw_dot, mermaid, plot, topological_order

QUANTITIES = {  # name: unit, factor, colour, marker
    "forward time": ("ms", 1e3, "#0072B2", "o"),
    "backward time": ("ms", 1e3, "#D55E00", "^"),
    "graph memory": ("MB", 1e-6, "#0072B2", "o"),
    "backward memory": ("MB", 1e-6, "#D55E00", "^"),
}


# ---- 1. Orders


def essay_graph():
    """The loss of the essay's graph, with labelled nodes."""
    a, b = Value(2.0), Value(1.0)
    c = a + b
    d, e = 2 * c, c - 1
    f = d / e
    g = f**2
    loss = g - 5.0
    for name, node in zip("abcdefg", (a, b, c, d, e, f, g), strict=True):
        node.label = name
    loss.label = "loss"
    return loss


def variables(root):
    """The nodes of a graph that are not constants."""
    return [node for node in topological_order(root) if not node.is_constant]


def levels(root):
    """The level of each node: of a leaf 0, else one more than the highest of its operands."""
    level: dict[Value, int] = {}
    for node in topological_order(root):
        level[node] = 1 + max((level[operand] for operand in node._prev), default=-1)
    return level


def topological_orders(nodes, begun=()):
    """All orders of the nodes in which operands come first, after those with which it is begun."""
    if len(begun) == len(nodes):
        yield begun
    for node in nodes:
        if node not in begun and all(v in begun or v not in nodes for v in node._prev):
            yield from topological_orders(nodes, (*begun, node))


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


def diamond():
    """The leaf and the root of b = -a, c = b + b."""
    a = Value(3.0)
    b = -a
    return a, b + b


def recurse(node):
    """Goes backward without an order: each visit passes on the node's whole gradient so far."""
    node._backward()
    for operand in node._prev:
        recurse(operand)


def by_recursion():
    """The wrong derivative dc/da of the diamond, from plain recursion."""
    a, c = diamond()
    c.grad = 1
    recurse(c)
    return a.grad


def by_order():
    """The derivative dc/da of the diamond, along a topological order."""
    a, c = diamond()
    c.backward()
    return a.grad


# ---- 2. Cost


def chain(nodes):
    """The root of a graph with this many nodes, one of them the leaf."""
    x = y = Value(0.5)
    for _ in range((nodes - 1) // 2):
        y = y * x + x
    return y


def size(root):
    """The number of nodes and edges, V + E."""
    order = topological_order(root)
    return len(order) + sum(len(node._prev) for node in order)


def seconds(nodes):
    """The times of the forward and the backward pass."""
    start = time.perf_counter()
    root = chain(nodes)
    middle = time.perf_counter()
    root.backward()
    return middle - start, time.perf_counter() - middle


def memory(nodes):
    """The memory of the graph, and the additional peak memory of the backward pass, in bytes."""
    gc.collect()  # also empties Python's lists of free objects, which tracemalloc does not count
    tracemalloc.start()
    try:
        root = chain(nodes)
        graph, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        root.backward()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return graph, peak - graph


def measure(nodes):
    """V + E and the quantities above; each time is the best of several rounds."""
    collected = gc.isenabled()
    try:
        gc.disable()
        times = [seconds(nodes) for _ in range(max(3, min(50, 100_000 // nodes)))]
        return size(chain(nodes)), *map(min, zip(*times, strict=True)), *memory(nodes)
    finally:
        if collected:
            gc.enable()


def slope(sizes, quantity):
    """The exponent k of the power law quantity ~ size^k that fits best on a log-log scale."""
    return np.polyfit(np.log(sizes), np.log(quantity), 1)[0]


def draw(sizes, columns):
    """The figure: time and memory against V + E, with a line of slope 1."""
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    for ax, what in zip(figure.subplots(1, 2), ("time", "memory"), strict=True):
        for name, (unit, factor, colour, marker) in QUANTITIES.items():
            if name.endswith(what):
                label = f"{name.split()[0]} (slope {slope(sizes, columns[name]):.2f})"
                shown = np.array(columns[name]) * factor
                ax.plot(sizes, shown, color=colour, marker=marker, markersize=5, label=label)
                lowest, of_unit = shown[0], unit
        guide = np.array([sizes[0], sizes[-1]])
        ax.plot(guide, 0.4 * lowest * guide / guide[0], color="#666666", linewidth=1,
                linestyle="--", label="slope 1")  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="nodes and edges, V + E",
               ylabel=f"{what} ({of_unit})")  # fmt: skip
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
    return figure


def main():
    """Prints the essay's numbers beside ours, and draws the graph and the cost."""
    largest = {"type": positive, "default": 100_000, "metavar": "N", "help": "nodes (100000)"}
    options = arguments(__doc__, ("--largest", largest))
    folder = Path(options.out_dir)
    if options.largest < 2000:
        sys.exit(f"expected --largest of at least 2000 nodes, got {options.largest}")

    loss = essay_graph()
    level_of, orders = levels(loss), list(topological_orders(variables(loss)))
    for level in range(level_of[loss] + 1):
        names = (node.label for node in variables(loss) if level_of[node] == level)
        print(f"level {level}: {' '.join(names)}")
    trial = orders_by_trial(loss)
    print_table("Orders", [("topological orders", 3, len(orders)),
                           ("found by trying all 8! permutations", None, trial)])  # fmt: skip
    rows = []
    for order in orders:
        along = " ".join(node.label for node in order)
        rows.append((f"dloss/da along {along}", -3, gradients_along(order)["a"]))
    rows += [("dc/da of b = -a, c = b + b, in order", -2, by_order()),
             ("dc/da by plain recursion", -2, by_recursion())]  # fmt: skip
    print_table("Gradients", rows, "by hand")
    draw_dot(loss, edges="derivatives").save(folder / "orders.svg")  # along the last order
    a, b, *middle, g, _ = variables(loss)
    frames = {"Inputs": [a, b], "Middle nodes": middle, "Pre-loss nodes": g, "Loss": loss}
    Path(folder, "orders.mmd").write_text(mermaid(loss, groups=frames), encoding="utf-8")

    targets = np.geomspace(1000, options.largest, 5).round().astype(int).tolist()
    sizes, *measured = zip(*map(measure, tqdm(targets, unit="graph")), strict=True)
    columns = dict(zip(QUANTITIES, measured, strict=True))
    print(f"\n{'V + E':>12}" + "".join(f"{name:>17}" for name in columns))
    for i, n in enumerate(sizes):
        shown = (f"{columns[name][i] * factor:.2f} {unit}"
                 for name, (unit, factor, *_) in QUANTITIES.items())  # fmt: skip
        print(f"{n:>12,}" + "".join(f"{text:>17}" for text in shown))
    rows = [(name, 1, slope(sizes, column)) for name, column in columns.items()]
    print_table("Slope in the log-log plot", rows, "V + E")
    plot.save(draw(sizes, columns), folder / "cost.png")
    print(f"\npictures in {folder}: orders.svg cost.png")


if __name__ == "__main__":
    main()
