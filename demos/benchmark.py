"""Speed and memory of the eager engine, beside those of the original package.

    pip install --target original micrograd==0.1.0
    python demos/benchmark.py --original original

Each package runs in a process of its own, because both are called `micrograd`. A round asks every
process for one training step in turn, so that a machine that slows down slows all of them, and the
table shows medians over the rounds. The step is that of the original's demo: a network of 2-16-16-1
neurons on 100 points, hinge loss and L2 penalty, forward, backward and update.

Python's cyclic garbage collector runs as it comes, or is off, or off while a step is measured and
run between the steps: where it is off, the garbage of the original piles up and slows its later
steps. Without --original only this package is measured.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve()


# ---- what runs in a process of its own, and knows nothing of which package it measures


def training_step(Value, model, points, targets):
    """One step of the original's demo, forward to update; the graph is freed at its end."""
    scores = [model([Value(x1), Value(x2)]) for x1, x2 in points]
    losses = [(1 + -y * score).relu() for y, score in zip(targets, scores, strict=True)]
    loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.1 * p.grad


def number_of_nodes(root):
    """How many nodes there are in the graph of this root."""
    seen, stack = {root}, [root]
    while stack:
        new = [operand for operand in stack.pop()._prev if operand not in seen]
        seen.update(new)
        stack += new
    return len(seen)


def bytes_per_node(Value, model, points):
    """Memory of a graph after its backward pass, by tracemalloc."""
    import gc
    import tracemalloc

    gc.collect()
    tracemalloc.start()
    loss = sum(model([Value(x1), Value(x2)]).relu() for x1, x2 in points[:30])
    loss.backward()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return taken / number_of_nodes(loss)


def peak_megabytes():
    """The largest memory this process has had so far, None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def cost_per_node(Value, nodes):
    """Nanoseconds per node of the forward pass, the backward pass and of freeing the graph."""
    start = time.perf_counter()
    x = Value(1.0)
    y = x
    for _ in range(nodes // 2):
        y = (y + x) * x
    forward = time.perf_counter()
    y.backward()
    backward = time.perf_counter()
    del y
    free = time.perf_counter()
    return [s / nodes * 1e9 for s in (forward - start, backward - forward, free - backward)]


def serve():
    """Answers one JSON question a line: what a measuring process does for a living."""
    import gc
    import random

    setup = json.loads(sys.stdin.readline())
    if setup["folder"]:
        sys.path.insert(0, setup["folder"])
    from micrograd.engine import Value
    from micrograd.nn import MLP

    if setup["collector"] != "on":
        gc.disable()
    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    for line in sys.stdin:
        question, argument = json.loads(line)
        if question == "step":
            start = time.perf_counter()
            training_step(Value, model, setup["points"], setup["targets"])
            answer = time.perf_counter() - start
            if setup["collector"] == "between":
                gc.collect()
        elif question == "memory":
            answer = bytes_per_node(Value, model, setup["points"])
        elif question == "growth":
            training_step(Value, model, setup["points"], setup["targets"])
            before = peak_megabytes()
            for _ in range(argument):
                training_step(Value, model, setup["points"], setup["targets"])
            answer = None if before is None else (peak_megabytes() - before) / argument
        else:
            answer = cost_per_node(Value, argument)
            gc.collect()
        print(json.dumps(answer), flush=True)


# ---- what asks


class Process:
    """A process that measures the `micrograd` in a folder ('' for the installed one)."""

    def __init__(self, folder, collector, points, targets):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE), "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        setup = {"folder": folder, "collector": collector, "points": points, "targets": targets}
        self.process.stdin.write(json.dumps(setup) + "\n")

    def ask(self, question, argument=0):
        """The answer to one question."""
        self.process.stdin.write(json.dumps([question, argument]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("benchmark: a measuring process died; its own message stands above")
        return json.loads(line)

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


def machine():
    """The processor and Python, in one line."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        name = next((s.split(":")[1].strip() for s in lines if s.startswith("model name")), name)
    return f"{name}, {platform.system()}, CPython {platform.python_version()}"


def main():
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--original", metavar="DIR", help="folder with the original package")
    parser.add_argument("--rounds", type=int, default=15, help="training steps of each (15)")
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest graph (1000000)")
    options = parser.parse_args()
    if options.rounds < 1 or options.largest < 1000:
        parser.error("--rounds must be at least 1, --largest at least 1000")
    if options.original and not (Path(options.original) / "micrograd" / "engine.py").exists():
        parser.error(
            f"no package micrograd in {options.original}: "
            f"pip install --target {options.original} micrograd==0.1.0"
        )

    from micrograd.datasets import moons

    points, classes = moons(100, noise=0.1, seed=1337)
    targets = [2 * k - 1 for k in classes]
    folders = {"this package": ""}
    if options.original:
        folders["original 0.1.0"] = str(Path(options.original).resolve())

    def processes(collector):
        return {
            name: Process(folder, collector, points, targets) for name, folder in folders.items()
        }

    print(machine())
    print(f"\nOne training step (2-16-16-1, 100 points), median of {options.rounds} rounds")
    print(f"{'':24}{'collector on':>16}{'collector off':>16}{'off, but between':>18}")
    times = {name: [] for name in folders}
    for collector in ("on", "off", "between"):
        asked = processes(collector)
        samples = {name: [] for name in folders}
        for _ in range(options.rounds):
            for name, process in asked.items():
                samples[name].append(process.ask("step"))
        for name, process in asked.items():
            times[name].append(median(samples[name]))
            process.close()
    for name, columns in times.items():
        print(f"{name:24}" + "".join(f"{seconds * 1e3:>13.1f} ms" for seconds in columns))
    rows = list(times.values())
    if len(rows) == 2:
        ratios = [theirs / ours for ours, theirs in zip(*rows, strict=True)]
        print(f"{'times faster':24}" + "".join(f"{ratio:>16.2f}" for ratio in ratios))

    print("\nMemory")
    print(f"{'':24}{'bytes per node':>16}{'growth per step, collector off':>36}")
    taken = []
    for name, process in processes("off").items():
        taken.append(process.ask("memory"))
        growth = process.ask("growth", 100 if not taken[1:] else 10)
        shown = "not told by this system" if growth is None else f"{growth:.2f} MB"
        print(f"{name:24}{taken[-1]:>16.0f}{shown:>36}")
        process.close()
    if len(taken) == 2:
        print(f"{'ratio':24}{taken[0] / taken[1]:>15.0%}")

    print("\nNanoseconds per node of a graph of so many nodes, this package")
    print(f"{'':16}{'collector on':^36}{'collector off':^36}")
    print(f"{'nodes':16}" + 2 * f"{'forward':>12}{'backward':>12}{'freeing':>12}")
    asked = [Process("", collector, points, targets) for collector in ("on", "off")]
    nodes = 1000
    while nodes <= options.largest:
        print(f"{nodes:<16,}", end="")
        for process in asked:
            answers = [process.ask("cost", nodes) for _ in range(max(3, 100_000 // nodes))]
            print("".join(f"{median(c):>12.0f}" for c in zip(*answers, strict=True)), end="")
        print()
        nodes *= 10
    for process in asked:
        process.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main()
