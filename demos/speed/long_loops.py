"""Four programs with long loops, written with `scan` and compiled by this package and by JAX.

    python demos/speed/long_loops.py
    python demos/speed/long_loops.py --only kalman --times 10

Each step of a loop depends on the one before, so there is nothing to do at the same time: what
counts is how soon the first value comes, and what a step costs. The programs are a function of one
vector, its value and its gradient, in float64 on one core; both forms use `scan`. The MB are what
a process of its own takes at most, beyond one that has compiled `x * x`, without JAX.
"""

# ruff: noqa: D103  # the heading of a section says what its two functions compute

import argparse
import platform
import subprocess
import sys
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from gradbench import Program, measured
from jax import lax

from micrograd import compile, scan, values
from micrograd.core.arithmetic import log

rng = np.random.default_rng(0)
STEPS = {"ode": 400, "lotka_volterra": 3000, "kalman": 2000, "lstm": 250}


# ---- ode: a chain of eight reactions, integrated to t = 2 by Runge and Kutta's method

CHAIN = 8


def runge_kutta(slopes, x, h):
    a = slopes(x)
    b = slopes(x + h / 2 * a)
    c = slopes(x + h / 2 * b)
    d = slopes(x + h * c)
    return x + h / 6 * (a + 2 * b + 2 * c + d)


def ode(n):
    theta = values(np.zeros(CHAIN))

    def slopes(x):
        return theta * np.array([1.0, *x[:-1]])

    def loss():
        step = lambda x, _: (runge_kutta(slopes, x, 2 / n), None)  # noqa: E731
        return scan(step, np.zeros(CHAIN), length=n)[0][-1]

    def in_jax(theta):
        def slopes(x):
            return theta * jnp.concatenate([jnp.ones(1), x[:-1]])

        step = lambda x, _: (runge_kutta(slopes, x, 2 / n), None)  # noqa: E731
        return lax.scan(step, jnp.zeros(CHAIN), length=n)[0][-1]

    return Program(lambda: (loss, theta, ()), in_jax, rng.uniform(0.5, 1.5, CHAIN))


# ---- lotka_volterra: hares and lynxes, integrated to t = 15, and their distance from what was seen


def lotka_volterra(n):
    rates = values(np.zeros(4))
    t = np.linspace(0, 15, n)
    seen = np.stack([1 + 0.5 * np.sin(t), 1 + 0.5 * np.cos(t)], axis=1)

    def slopes(rates, x, y):
        return rates[0] * x - rates[1] * x * y, rates[3] * x * y - rates[2] * y

    def step(rates, state, seen):
        (x, y, total), h = state, 15 / n
        a, b = slopes(rates, x, y)
        c, d = slopes(rates, x + h / 2 * a, y + h / 2 * b)
        x, y = x + h * c, y + h * d
        return x, y, total + (x - seen[0]) ** 2 + (y - seen[1]) ** 2

    def loss():
        following = lambda s, seen: (step(rates, s, seen), None)  # noqa: E731
        return scan(following, (1.0, 0.5, 0.0), seen)[0][2] / n

    def in_jax(rates):
        following = lambda s, seen: (step(rates, s, seen), None)  # noqa: E731
        return lax.scan(following, (1.0, 0.5, 0.0), jnp.array(seen))[0][2] / n

    return Program(lambda: (loss, rates, ()), in_jax, np.array([1.1, 0.8, 1.0, 0.7]))


# ---- kalman: the negative log likelihood of positions, seen with noise, of something that moves


def kalman(n):
    noises = values(np.zeros(2))
    seen = np.cumsum(np.cumsum(rng.normal(size=n)) * 0.1 + rng.normal(size=n) * 0.1)
    seen = seen / np.abs(seen).max() * 10

    def step(log, state, y, q, r):
        x, v, a, b, c, total = state  # mean, velocity, and the three entries of the covariance
        x, a, b, c = x + v, a + 2 * b + c + q / 4, b + c + q / 2, c + q
        s, gap = a + r, y - x
        total = total + 0.5 * (log(s) + gap * gap / s)
        f, g = a / s, b / s
        return x + f * gap, v + g * gap, a - f * a, b - f * b, c - g * b, total

    start = (0.0, 0.0, 10.0, 0.0, 10.0, 0.0)

    def loss():
        q, r = noises[0].exp(), noises[1].exp()
        return scan(lambda s, y: (step(log, s, y, q, r), None), start, seen)[0][5] / n

    def in_jax(theta):
        q, r = jnp.exp(theta)
        step_ = lambda s, y: (step(jnp.log, s, y, q, r), None)  # noqa: E731
        return lax.scan(step_, start, jnp.array(seen))[0][5] / n

    return Program(lambda: (loss, noises, ()), in_jax, np.array([-2.0, -1.0]))


# ---- lstm: the next character's probability, by four layers with diagonal weights

WIDTH, LAYERS = 14, 4


def cell_of(sigmoid, tanh, weights, biases, x, hidden, cell):
    forget = sigmoid(x * weights[0] + biases[0])
    enter = sigmoid(hidden * weights[1] + biases[1])
    leave = sigmoid(x * weights[2] + biases[2])
    cell = cell * forget + enter * tanh(hidden * weights[3] + biases[3])
    return leave * tanh(cell), cell


def lstm(n):
    letters = (rng.random((n + 1, WIDTH)) < 0.2).astype(float)
    theta = values(np.zeros(8 * WIDTH * LAYERS))
    start = np.full((LAYERS, WIDTH), 0.1), np.full((LAYERS, WIDTH), 0.2)

    def layers(sigmoid, tanh, theta, x, hidden, cell):
        made = []
        for (weights, biases), h, c in zip(theta, hidden, cell, strict=True):
            x, c = cell_of(sigmoid, tanh, weights, biases, x, h, c)
            made.append((x, c))
        return x, made

    def loss():
        parts = theta.reshape(LAYERS, 2, 4, WIDTH)

        def step(state, pair):
            (hidden, cell, total), (x, following) = state, pair
            top, made = layers(lambda v: v.sigmoid(), np.tanh, parts, x, hidden, cell)
            total = total + np.exp(top).sum().log() * following.sum() - (top @ following)
            hidden, cell = (np.array([pair[k] for pair in made]) for k in (0, 1))
            return (values(hidden), values(cell), total), None

        return scan(step, (*start, 0.0), [*pairwise(letters)])[0][2] / n

    def in_jax(theta):
        parts = theta.reshape(LAYERS, 2, 4, WIDTH)

        def step(state, pair):
            (hidden, cell, total), (x, following) = state, pair
            top, made = layers(jax.nn.sigmoid, jnp.tanh, parts, x, hidden, cell)
            total += jax.nn.logsumexp(top) * following.sum() - (top * following).sum()
            return (*(jnp.stack(some) for some in zip(*made, strict=True)), total), None

        return lax.scan(step, (*start, 0.0), (letters[:-1], letters[1:]))[0][2] / n

    return Program(lambda: (loss, theta, ()), in_jax, rng.normal(size=8 * WIDTH * LAYERS) * 0.5)


# ---- the table

PROGRAMS = {"ode": ode, "lotka_volterra": lotka_volterra, "kalman": kalman, "lstm": lstm}


def largest_memory(name, times):
    """Prints the MB that compiling and running a program takes at most, where Linux says so."""
    compile(lambda x: x * x)([1.0])
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is that of today
    before = memory("VmRSS")
    function, parameters, _ = PROGRAMS[name](STEPS[name] * times).ours()
    numbers = np.full(parameters.size, 0.5)
    compile(function).value_and_grad(numbers, parameters=parameters)
    print(f"{(memory('VmHWM') - before) / 1024:.0f}")


def memory(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Compares compiled loops with JAX.")
    parser.add_argument("--only", nargs="*", choices=[*PROGRAMS], default=[*PROGRAMS])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--times", type=int, default=1, help="as many steps (1)")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        largest_memory(options.memory, options.times)
        return
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()},")
    print("microseconds of a value and its gradient, and seconds of the first call:\n")
    print(f"{'':15}{'steps':>6}{'micrograd':>10} {'JAX':>10} {'ratio':>8} {'first':>8} {'JAX':>8}"
          f" {'gap':>10} {'MB':>6}")  # fmt: skip
    for name in options.only:
        steps = STEPS[name] * options.times
        command = [sys.executable, __file__, "--memory", name, "--times", str(options.times)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        row = measured(PROGRAMS[name](steps), options.rounds)
        print(f"{name:15}{steps:6}{row} {done.stdout.strip() or '?':>6}", flush=True)


if __name__ == "__main__":
    main()
