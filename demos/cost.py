"""The cost of a gradient: time and memory grow like the number of nodes and edges, V + E.

The forward pass creates each node once, and the backward pass visits each node and each edge once.
So in a log-log plot, time and memory against V + E are straight lines of slope 1, from a thousand
nodes to a million. The graph is a chain of y = y x + x, with two edges for each node.

Python's cyclic garbage collector is off during the measurement, and is restored afterwards. It
walks through all objects again and again while a graph is built, which is not a cost of the graph
itself: a graph has no reference cycles and is freed without the collector. `--collector` leaves it
on, to show its cost. `tracemalloc` measures memory in separate runs, because it slows everything
down. The backward pass holds a list and a set of all nodes, and a set grows in jumps. Takes about
20 seconds.
"""

import argparse
import gc
import time
import tracemalloc

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from micrograd import Value, plot, topological_order

QUANTITIES = {  # name: unit, factor, colour, marker
    "forward time": ("ms", 1e3, "#0072B2", "o"),
    "backward time": ("ms", 1e3, "#D55E00", "^"),
    "graph memory": ("MB", 1e-6, "#0072B2", "o"),
    "backward memory": ("MB", 1e-6, "#D55E00", "^"),
}


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
    """Bytes of the graph, and the peak of what the backward pass needs in addition."""
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


def measure(nodes, rounds, collector=False):
    """V + E and the quantities above; each time is the best of several rounds."""
    collected = gc.isenabled()
    try:
        if not collector:
            gc.disable()
        times = [seconds(nodes) for _ in range(rounds)]
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
    """Measures, prints the table, and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--largest", type=int, default=1_000_000, metavar="N", help="(1000000)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="at least (3)")
    parser.add_argument("--collector", action="store_true", help="leave the garbage collector on")
    parser.add_argument("--out", default="cost.png", metavar="FILE", help="(cost.png)")
    options = parser.parse_args()
    if options.largest < 2000 or options.rounds < 1:
        parser.error(
            "expected --largest of at least 2000 nodes and --rounds of at least 1, got "
            f"{options.largest} and {options.rounds}"
        )
    try:
        plot.check_path(options.out)
    except (ValueError, OSError) as error:
        parser.error(str(error))

    targets = np.geomspace(1000, options.largest, 7).round().astype(int).tolist()
    rows = [
        measure(nodes, max(options.rounds, min(50, 100_000 // nodes)), options.collector)
        for nodes in tqdm(targets, unit="graph")
    ]
    sizes, *measured = zip(*rows, strict=True)
    columns = dict(zip(QUANTITIES, measured, strict=True))

    print(f"garbage collector {'on' if options.collector else 'off'} during the measurement")
    print(f"{'V + E':>14}" + "".join(f"{name:>17}" for name in columns))
    print(f"{'':14}" + "".join(f"{unit:>17}" for unit, *_ in QUANTITIES.values()))
    for i, n in enumerate(sizes):
        scaled = (columns[name][i] * factor for name, (_, factor, *_) in QUANTITIES.items())
        print(f"{n:>14,}" + "".join(f"{number:>17.2f}" for number in scaled))
    slopes = {name: slope(sizes, column) for name, column in columns.items()}
    print(f"{'slope':>14}" + "".join(f"{found:>17.3f}" for found in slopes.values()))
    print(f"{'reference':>14}" + "".join(f"{1:>17.3f}" for _ in slopes))
    print(f"{'difference':>14}" + "".join(f"{found - 1:>17.3f}" for found in slopes.values()))
    plot.save(draw(sizes, columns), options.out)
    print(f"\npicture in {options.out}")


if __name__ == "__main__":
    main()
