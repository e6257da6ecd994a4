"""Speed and memory of this package, compared with the original package and array frameworks.

    pip install --target original micrograd==0.1.0
    python demos/speed/benchmark.py --original original
    python demos/speed/benchmark.py --only eager --imports sklearn.datasets matplotlib.pyplot
    python demos/speed/benchmark.py --only peers --workloads W1 W2
    python demos/speed/benchmark.py --only epoch
    python demos/speed/benchmark.py --only stale
    python demos/speed/benchmark.py --only peers --peers jax --examples 1000000
    python demos/speed/benchmark.py --only peers --peers jax --examples 10000000 --accelerator

Everything that is measured runs in a separate process, because two of the packages are called
`micrograd`. Each round asks every process in turn, so a machine that slows down slows all of them.
The tables show medians over the rounds.

The tables of the eager engine measure the training step of the original's demo: a network of
2-16-16-1 neurons on 100 points, hinge loss and L2 penalty, forward, backward and update, in seconds
of processor time. Python's cyclic garbage collector is on (the default), on after `gc.freeze()`,
off, or off during a step and run between steps. With the collector off, the garbage of the original
piles up and slows its later steps. The more objects other packages keep, the more the collector
visits: --imports imports some first, as a notebook does. Without --original only this package is
measured.

The tables of the peers measure four workloads, described in `peers.py`, with every package that is
installed, all in float64 on the same single core; with --accelerator, JAX uses the accelerator that
it finds. The first step of each peer is compared with NumPy code written by hand. A peer that
differs is reported and not timed.

--only stale asks another question: after a change of something that a compiled function reads, such
as a global number or a layer of the model, does the next call return the right result? The cases
are in `staleness.py`.
"""

import argparse
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()


# ---- code of the separate processes; it does not know which package it measures


def training_step(Value, model, points, targets):
    """Does one step of the original's demo, forward to update; frees the graph at the end."""
    scores = [model([Value(x1), Value(x2)]) for x1, x2 in points]
    losses = [(1 + -y * score).relu() for y, score in zip(targets, scores, strict=True)]
    loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.1 * p.grad


def number_of_nodes(root):
    """The number of nodes in the graph of this root."""
    seen, stack = {root}, [root]
    while stack:
        new = [operand for operand in stack.pop()._prev if operand not in seen]
        seen.update(new)
        stack += new
    return len(seen)


def bytes_per_node(Value, model, points):
    """The memory of a graph after its backward pass, from tracemalloc."""
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
    """The peak memory of this process so far, or None if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def cost_per_node(Value, nodes):
    """Nanoseconds per node for the forward pass, the backward pass, and freeing the graph."""
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
    """Answers questions about one package, one line of JSON each, until its input ends."""
    import gc
    import random

    setup = json.loads(sys.stdin.readline())
    if setup["folder"]:
        sys.path.insert(0, setup["folder"])
    from micrograd.engine import Value
    from micrograd.nn import MLP

    for name in setup["imports"]:
        importlib.import_module(name)
    if setup["collector"] == "frozen":
        gc.freeze()
    elif setup["collector"] != "on":
        gc.disable()
    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    answer: Any
    for line in sys.stdin:
        question, argument = json.loads(line)
        if question == "step":
            start = time.process_time()
            training_step(Value, model, setup["points"], setup["targets"])
            answer = time.process_time() - start
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


def seconds_per_step(trained, count):
    """The mean time of this many steps, after half as many to warm up."""
    if count > 1:
        run(trained, count // 2)
    start = time.perf_counter()
    run(trained, count)
    return (time.perf_counter() - start) / count


def run(trained, count):
    """Does this many steps. JAX returns before it has computed, unless its result is used."""
    if hasattr(trained, "steps"):
        loss = trained.steps(count)
    else:
        step = trained.step
        for _ in range(count):
            loss = step()
    float(loss)


def first_step(setup):
    """A peer after one step, and the time, loss and parameters of that step."""
    import numpy as np
    from peers import PEERS, Original, Workload

    matrices = {name: np.array(rows) for name, rows in setup["matrices"].items()}
    inputs, targets = np.array(setup["inputs"]), np.array(setup["targets"])
    workload = Workload(setup["name"], matrices, inputs, targets, setup["lr"])
    workload = workload.repeated(setup["examples"])
    peer = next((peer for peer in PEERS if peer.name == setup["peer"]), None)
    if peer and peer.package:
        importlib.import_module(peer.package)  # import first: only building is timed
    start = time.perf_counter()
    trained = peer.build(workload) if peer else Original(workload, setup["folder"])
    loss = float(trained.step())
    seconds = time.perf_counter() - start
    return trained, {"seconds": seconds, "loss": loss, "parameters": trained.parameters().tolist()}


def stay_on_one_core():
    """Binds this process to one core, the same for all, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def serve_peer():
    """Builds one peer, then answers each line, a number of steps, with the seconds per step."""
    stay_on_one_core()
    answers, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is not an answer
    setup = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # an old cache would hide compile time
        try:
            trained, answer = first_step(setup)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.100}"}
        print(json.dumps(answer), file=answers, flush=True)
        for line in sys.stdin:
            print(seconds_per_step(trained, int(line)), file=answers, flush=True)


def serve_peak():
    """Answers with the floating-point operations per second of this core."""
    stay_on_one_core()
    from peers import peak

    print(json.dumps(peak()), flush=True)


# ---- code of the main process, which asks the others


ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
ON_PROCESSOR = {"JAX_PLATFORMS": "cpu"}
ON_ACCELERATOR = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}  # several processes share its memory


class Process:
    """A process that answers each line of JSON with another line.

    Args:
        task: a key of SERVICES.
        setup: the first line that it gets.
        environment: additional environment variables.
    """

    def __init__(self, task, setup, environment=None):
        self.process: Any = subprocess.Popen(
            [sys.executable, str(HERE), task], env=os.environ | (environment or {}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.send(setup)

    def send(self, question):
        """Sends a line."""
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()

    def ask(self, question, argument=0):
        """The answer to one question."""
        self.send([question, argument])
        return self.answer()

    def answer(self):
        """The next line of its output."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("benchmark: a measuring process failed; see its message above")
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


def eager_tables(options):
    """Prints the time of a step and of a node in eager mode, and their memory."""
    from micrograd.datasets import moons

    points, classes = moons(100, noise=0.1, seed=1337)
    targets = [2 * k - 1 for k in classes]
    rounds = options.rounds or 15
    folders = {"this package": ""}
    if options.original:
        folders["original 0.1.0"] = str(Path(options.original).resolve())

    def started(folder, collector):
        setup = {"folder": folder, "collector": collector, "points": points, "targets": targets}
        return Process("--serve", setup | {"imports": options.imports})

    def processes(collector):
        return {name: started(folder, collector) for name, folder in folders.items()}

    print(f"\nOne training step (2-16-16-1, 100 points), median of {rounds} rounds")
    print(f"{'':24}{'collector on':>16}{'after freeze':>16}{'collector off':>16}"
          f"{'off, but between':>18}")  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in folders}
    for collector in ("on", "frozen", "off", "between"):
        asked = processes(collector)
        samples: dict[str, list[float]] = {name: [] for name in folders}
        for _ in range(rounds):
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
        shown = "not reported here" if growth is None else f"{growth:.2f} MB"
        print(f"{name:24}{taken[-1]:>16.0f}{shown:>36}")
        process.close()
    if len(taken) == 2:
        print(f"{'ratio':24}{taken[0] / taken[1]:>15.0%}")

    print("\nNanoseconds per node, by number of nodes, this package")
    print(f"{'':16}{'collector on':^36}{'collector off':^36}")
    print(f"{'nodes':16}" + 2 * f"{'forward':>12}{'backward':>12}{'freeing':>12}")
    asked = [started("", collector) for collector in ("on", "off")]
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


SAMPLE, PATIENCE = 0.004, 5.0  # seconds: the least for a sample, the most for all of a peer
ORIGINAL = "original micrograd, eager"


def step_by_hand(workload):
    """The loss and the parameters after one step, and the largest entry of the gradient."""
    from peers import NumPy

    reference = NumPy(workload)
    before = reference.parameters()
    loss = reference.step()
    after = reference.parameters()
    return loss, after, abs(after - before).max() / workload.lr


def built(names, key, workload, folder, options):
    """The processes of peers whose first step is right, and its time, by name."""
    from tqdm import tqdm

    loss, expected, scale = step_by_hand(workload.repeated(options.examples))
    environment = ONE_CORE | (ON_ACCELERATOR if options.accelerator else ON_PROCESSOR)
    setup = workload._asdict() | {
        "examples": options.examples,
        "matrices": {name: A.tolist() for name, A in workload.matrices.items()},
        "inputs": workload.inputs.tolist(),
        "targets": workload.targets.tolist(),
        "folder": folder,
    }
    processes, seconds = {}, {}
    for name in tqdm(names, desc=f"building for {key}", leave=False):
        process = Process("--serve-peer", setup | {"peer": name}, environment)
        answer = process.answer()
        wrong = answer.get("error")
        if not wrong:
            off = abs(expected - answer["parameters"]).max() / workload.lr / scale
            if not (off < 1e-9 and math.isclose(answer["loss"], loss, rel_tol=1e-9)):
                wrong = f"its loss is off by {answer['loss'] - loss:.0e}, its gradient by {off:.0e}"
        if wrong:
            print(f"left out: {name}, {key}: {wrong}")
            process.close()
        else:
            processes[name], seconds[name] = process, answer["seconds"]
    return processes, seconds


def step_times(processes, rounds):
    """Seconds per step of each peer: medians over interleaved rounds."""
    samples: dict[str, list[float]] = {name: [] for name in processes}
    counts = dict.fromkeys(processes, 1)
    for warm in [False] * 5 + [True] * rounds:
        for name, process in processes.items():
            if sum(samples[name]) * counts[name] > PATIENCE:
                continue
            process.send(counts[name])
            seconds = process.answer()
            if warm or seconds > PATIENCE:
                samples[name].append(seconds)
            else:
                counts[name] = max(1, math.ceil(SAMPLE / seconds))
    return {name: median(times) for name, times in samples.items()}


def table(names, columns, cell):
    """Prints a row for each name, with a cell for each workload."""
    for name in names:
        cells = [cell(column, name) if name in column else "-" for column in columns]
        print((f"{name:28}" + "".join(f"{text:>22}" for text in cells)).rstrip())


def row_names():
    """The names of all peers."""
    from peers import PEERS

    return [ORIGINAL, *(peer.name for peer in PEERS)]


def chosen(names, parts):
    """The names that contain one of these parts, in upper or lower case."""
    return [name for name in names if any(part.lower() in name.lower() for part in parts)]


def peer_tables(options):
    """Prints the time of a training step in each peer, and of its first step."""
    from peers import PEERS, WORKLOADS

    rows = chosen(row_names(), options.peers)
    peers = [peer for peer in PEERS if peer.name in rows]
    missing = {peer.name: peer.missing() for peer in peers if peer.missing()}
    names = [peer.name for peer in peers if not peer.missing()]
    if options.original and ORIGINAL in rows:
        names.insert(0, ORIGINAL)
    frameworks = {peer.name for peer in peers if peer.kind == "framework"}
    folder = options.original and str(Path(options.original).resolve())
    rounds = options.rounds or 50

    process = Process("--serve-peak", {}, ONE_CORE)
    fastest = process.answer()
    process.close()
    steps, builds, works = [], [], []
    print()
    for key in options.workloads:
        workload = WORKLOADS[key]()
        quick = [name for name in names if options.slow or (name, key) not in SLOW]
        processes, seconds = built(quick, key, workload, folder, options)
        builds.append(seconds)
        steps.append(step_times(processes, rounds))
        works.append(workload.repeated(options.examples).operations / fastest)
        for process in processes.values():
            process.close()
    for name, reason in missing.items():
        print(f"not installed: {name} ({reason})")
    for (name, key), reason in SLOW.items():
        if not options.slow and name in names and key in options.workloads:
            print(f"left out: {name}, {key}: {reason}")

    heads = "".join(f"{key + ' ' + WORKLOADS[key].__name__:>22}" for key in options.workloads)
    print(f"\nMicroseconds of a training step, median of {rounds} rounds", end="")
    bars = [min((t for name, t in c.items() if name in frameworks), default=None) for c in steps]
    print(" (times the fastest framework)" if any(bars) else "")
    print(f"{'':28}{heads}")
    bound = f"products at {fastest / 1e9:.0f} GFLOP/s"

    def cell(column, name):
        bar = bars[next(i for i, c in enumerate(columns) if c is column)]
        ratio = column[name] / bar if bar else 0
        shown = f"({ratio:,.{0 if ratio > 99 else 2}f})" if bar else ""
        return f"{column[name] * 1e6:,.1f}{shown:>10}"

    columns = [{bound: work} | column for work, column in zip(works, steps, strict=True)]
    table([bound, *names], columns, cell)
    print("\nSeconds from the workload to the end of the first step: tracing, compiling, running")
    print(f"{'':28}{heads}")
    table(names, builds, lambda column, name: f"{column[name]:.2f}")


def epoch_table():
    """Prints the time of an epoch of 60,000 images in a network of 784-50-10 neurons.

    Max Bernstein measured it for the original and for his vectorized micrograd ("Vectorizing ML
    models for fun"), one image a step. The images here are random: speed does not depend on them.
    The eager engine runs ten of them.
    """
    import numpy as np

    import micrograd
    from micrograd.losses import cross_entropy
    from micrograd.optim import SGD

    os.environ["TQDM_DISABLE"] = "1"  # no progress bars
    rng = np.random.default_rng(5)
    images, labels = rng.uniform(0, 1, (60_000, 784)), rng.integers(0, 10, 60_000)

    def eager(n):
        for image, label in zip(images[:n].tolist(), labels[:n].tolist(), strict=True):
            optimizer.zero_grad()
            cross_entropy(model(image), label).backward()
            optimizer.step()

    def compiled(n, size):
        micrograd.fit(loss, images[:n], labels[:n], optimizer, steps=n // size, batch_size=size)

    print("\nSeconds of an epoch, 60,000 images, 784-50-10")
    for name, executor, size, n in (
        ("eager, one image a step", "", 1, 10),
        ("compiled, NumPy, one image a step", "numpy", 1, 60_000),
        ("compiled, NumPy, 100 images a step", "numpy", 100, 60_000),
        ("compiled, one image a step", None, 1, 60_000),
        ("compiled, 100 images a step", None, 100, 60_000),
    ):
        model = micrograd.MLP(784, [50, 10])
        optimizer = SGD(model.parameters(), lr=0.01)
        train = eager
        if executor != "":
            loss = micrograd.compile(
                lambda image, label, model=model: cross_entropy(model(image), label),
                executor=executor or "",
            )
            train = partial(compiled, size=size)
        train(size)  # compiles
        start = time.perf_counter()
        train(n)
        print(f"{name:36}{(time.perf_counter() - start) * 60_000 / n:10,.1f}")


SLOW = {
    ("CasADi, generated C", "W3"): "gcc takes minutes to compile it; add --slow",
    ("CasADi, generated C", "W4"): "gcc takes minutes to compile it; add --slow",
    ("PyTorch, torch.compile", "W4"): "it takes minutes to compile; add --slow",
    ("JAX, jit", "W4"): "it takes minutes to compile; add --slow",
    ("JAX, jit, many steps", "W4"): "it takes minutes to compile; add --slow",
    ("compiled, JAX", "W4"): "XLA takes minutes to compile it; add --slow",
    ("compiled, JAX, many steps", "W4"): "XLA takes minutes to compile it; add --slow",
}


def main():
    """Prints the tables."""
    all_workloads = ["W1", "W2", "W3", "W4"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=["eager", "peers", "epoch", "stale"],
                        help="one table: of the eager engine, of other packages, of an epoch of "
                        "MNIST's size, or of what compiled functions notice (all)")  # fmt: skip
    parser.add_argument("--original", metavar="DIR", help="folder with the original package")
    parser.add_argument("--rounds", type=int, help="for the eager engine (15), for the peers (50)")
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest graph (1000000)")
    parser.add_argument("--imports", nargs="+", metavar="MODULE", default=[],
                        help="for the eager engine: import these first (none)")  # fmt: skip
    parser.add_argument("--workloads", nargs="+", choices=all_workloads,
                        default=all_workloads, help="for the peers (all four)")  # fmt: skip
    parser.add_argument("--peers", nargs="+", metavar="NAME", default=[""],
                        help="peers whose names contain one of these (all)")  # fmt: skip
    parser.add_argument("--examples", type=int, default=0,
                        help="repeat the examples of W1 and W2 up to this many")  # fmt: skip
    parser.add_argument("--accelerator", action="store_true",
                        help="let JAX use the accelerator that it finds")  # fmt: skip
    parser.add_argument("--slow", action="store_true", help="include what takes minutes to compile")
    options = parser.parse_args()
    if (options.rounds is not None and options.rounds < 1) or options.largest < 1000:
        parser.error("expected --rounds of at least 1 and --largest of at least 1000, got "
                     f"{options.rounds} and {options.largest}")  # fmt: skip
    if options.examples < 0:
        parser.error(f"expected --examples of at least 1, got {options.examples}")
    if options.original and not (Path(options.original) / "micrograd" / "engine.py").exists():
        parser.error(
            f"no package micrograd in {options.original}: run "
            f"pip install --target {options.original} micrograd==0.1.0"
        )
    unknown = [part for part in options.peers if not chosen(row_names(), [part])]
    if unknown:
        parser.error(f"no peer has {unknown[0]!r} in its name: there are {'; '.join(row_names())}")
    print(machine())
    if options.only in (None, "eager"):
        eager_tables(options)
    if options.only in (None, "peers"):
        peer_tables(options)
    if options.only in (None, "epoch"):
        epoch_table()
    if options.only in (None, "stale"):
        from staleness import stale_table

        stale_table()


SERVICES = {"--serve": serve, "--serve-peer": serve_peer, "--serve-peak": serve_peak}

if __name__ == "__main__":
    SERVICES.get(" ".join(sys.argv[1:]), main)()
