"""Twelve programs that people differentiate, compiled by this package and by JAX.

    python demos/speed/gradbench.py
    python demos/speed/gradbench.py --only gmm lse --rounds 50

The programs are those of GradBench and ADBench, some of them smaller: a function of one vector, its
value and its gradient. Each is written twice, in the way that each package asks for: in scalars,
for one example, and with loops of Python; and in JAX with arrays, `vmap` and `scan`. Both compute
in float64 on one core. Values and gradients are compared before anything is timed; the table shows
medians over interleaved rounds, and the seconds of the first call, which compiles.

Source: https://github.com/gradbench/gradbench and https://github.com/microsoft/ADBench, which
describe the programs.
"""

# ruff: noqa: D103  # the heading of a section says what its two functions compute

import argparse
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import micrograd
from micrograd import take, values, where
from micrograd.derivatives import gradient

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)


class Program(NamedTuple):
    """A program in both forms, and the vector at which it is evaluated.

    Attributes:
        ours: returns a function of scalars, its parameters, and the arrays of its examples.
        in_jax: a function of the vector.
    """

    ours: Callable[[], tuple[Callable[..., Any], Any, tuple[Any, ...]]]
    in_jax: Callable[[Any], Any]
    theta: Any


PROGRAMS: dict[str, Program] = {}


def listed(theta: Any, in_jax: Callable[[Any], Any]) -> Callable[..., Any]:
    """A decorator that adds the program of this name."""

    def decorator(ours: Callable[[], Any]) -> Any:
        PROGRAMS[ours.__name__] = Program(ours, in_jax, np.asarray(theta, float))
        return ours

    return decorator


# ---- hello: a square


@listed([3.0], lambda t: t[0] ** 2)
def hello():
    x = values([3.0])
    return lambda: x[0] ** 2, x, ()


# ---- lse: the logarithm of a sum of 3,000 exponentials


@listed(rng.normal(size=3000), jax.nn.logsumexp)
def lse():
    x = values(np.zeros(3000))

    def log_sum_exp():
        largest = x.max()
        return np.exp(x - largest).sum().log() + largest

    return log_sum_exp, x, ()


# ---- llsq: a polynomial fitted to a step, by least squares

T = np.linspace(-1, 1, 1000)


def llsq_in_jax(x):
    fitted = jnp.polyval(x[::-1], T)
    return jnp.mean((jnp.sign(T) - fitted) ** 2) / 2


@listed(rng.normal(size=16), llsq_in_jax)
def llsq():
    x = values(np.zeros(16))

    def residual(t, target):
        fitted = 0.0
        for coefficient in reversed(x):  # Horner's rule
            fitted = fitted * t + coefficient
        return (target - fitted) ** 2 / 2

    return residual, x, (T, np.sign(T))


# ---- gmm: the likelihood of a mixture of normal distributions with full covariances

K, D = 5, 4
POINTS = rng.normal(size=(500, D)) + rng.integers(0, 3, size=(500, 1))
BELOW = [(i, j) for i in range(D) for j in range(i)]
SPLIT = np.cumsum([K, K * D, K * D])


def gmm_in_jax(theta):
    alphas, means, logs, below = jnp.split(theta, SPLIT)
    means, logs, below = means.reshape(K, D), logs.reshape(K, D), below.reshape(K, -1)
    rows, columns = np.array(BELOW).T
    root = jax.vmap(lambda q, b: jnp.diag(jnp.exp(q)).at[rows, columns].set(b))(logs, below)
    scaled = jnp.einsum("kij,nkj->nki", root, POINTS[:, None] - means)
    scores = alphas + logs.sum(1) - (scaled**2).sum(2) / 2
    return jnp.mean(jax.nn.logsumexp(alphas) - jax.nn.logsumexp(scores, axis=1))


@listed(rng.normal(size=SPLIT[-1] + K * len(BELOW)) / 2, gmm_in_jax)
def gmm():
    theta = values(np.zeros(SPLIT[-1] + K * len(BELOW)))
    alphas, means, logs, below = np.split(theta, SPLIT)
    means, logs, below = means.reshape(K, D), logs.reshape(K, D), below.reshape(K, -1)

    def log_sum_exp(scores):
        largest = scores.max()
        return np.exp(scores - largest).sum().log() + largest

    def score(x, k):
        centred = x - means[k]
        total = alphas[k] + logs[k].sum()
        for i in range(D):
            scaled = logs[k][i].exp() * centred[i]
            for (row, j), entry in zip(BELOW, below[k], strict=True):
                if row == i:
                    scaled = scaled + entry * centred[j]
            total = total - scaled**2 / 2
        return total

    def likelihood(x):
        return log_sum_exp(alphas) - log_sum_exp(values([score(x, k) for k in range(K)]))

    return likelihood, theta, (POINTS,)


# ---- ba: cameras and points from where the points are seen in the pictures

CAMERAS, SEEN, OBSERVED = 10, 100, 500
CAMERA_OF, POINT_OF = rng.integers(0, CAMERAS, OBSERVED), rng.integers(0, SEEN, OBSERVED)
PLACES = rng.normal(size=(OBSERVED, 2))
SIZES = np.cumsum([CAMERAS * 11, SEEN * 3])


def rotated_in_jax(axis, x):
    angle = jnp.sqrt(jnp.sum(axis**2))
    w = axis / angle
    return (
        x * jnp.cos(angle)
        + jnp.cross(w, x) * jnp.sin(angle)
        + w * jnp.dot(w, x) * (1 - jnp.cos(angle))
    )


def ba_in_jax(theta):
    cameras, points, weights = jnp.split(theta, SIZES)

    def squared(camera, point, weight, place):
        moved = rotated_in_jax(camera[:3], point - camera[3:6])
        flat = moved[:2] / moved[2]
        size = jnp.sum(flat**2)
        seen = flat * (1 + camera[9] * size + camera[10] * size**2) * camera[6] + camera[7:9]
        return jnp.sum((weight * (seen - place)) ** 2)

    return jnp.mean(
        jax.vmap(squared)(
            cameras.reshape(-1, 11)[CAMERA_OF], points.reshape(-1, 3)[POINT_OF], weights, PLACES
        )
    )


@listed(np.concatenate([rng.normal(size=SIZES[-1]), rng.uniform(0.5, 1, OBSERVED)]), ba_in_jax)
def ba():
    theta = values(np.zeros(SIZES[-1] + OBSERVED))
    cameras, points, weights = np.split(theta, SIZES)
    cameras, points = cameras.reshape(-1, 11), points.reshape(-1, 3)

    def rotated(axis, x):
        angle = (axis**2).sum().sqrt()
        w, cos, sin = axis / angle, angle.cos(), angle.sin()
        along = (w * x).sum() * (1 - cos)
        turned = [w[i - 2] * x[i - 1] - w[i - 1] * x[i - 2] for i in range(3)]
        return [x[i] * cos + turned[i] * sin + w[i] * along for i in range(3)]

    def squared(i, j, k, place):
        camera, point = take(cameras, i), take(points, j)
        x, y, z = rotated(camera[:3], point - camera[3:6])
        x, y = x / z, y / z
        size = x * x + y * y
        bent = (1 + camera[9] * size + camera[10] * size**2) * camera[6]
        gap = (x * bent + camera[7] - place[0]) ** 2 + (y * bent + camera[8] - place[1]) ** 2
        return take(weights, k) ** 2 * gap

    return squared, theta, (CAMERA_OF, POINT_OF, np.arange(OBSERVED), PLACES)


# ---- ht: points of a hand that move with the joints of a finger

JOINTS, VERTICES = 4, 300
REST = rng.normal(size=(VERTICES, 3))
BLEND = rng.dirichlet(np.ones(JOINTS), VERTICES)
TARGETS = rng.normal(size=(VERTICES, 3))


def ht_in_jax(theta):
    angles, shift = theta[:-3].reshape(JOINTS, 3), theta[-3:]

    def turn(angle):
        (a, b, c), (d, e, f) = jnp.cos(angle), jnp.sin(angle)
        about_x = jnp.array([[1, 0, 0], [0, a, -d], [0, d, a]])
        about_y = jnp.array([[b, 0, e], [0, 1, 0], [-e, 0, b]])
        about_z = jnp.array([[c, -f, 0], [f, c, 0], [0, 0, 1]])
        return about_z @ about_y @ about_x

    def joint(carried, angle):
        rotation, origin = carried
        rotation = rotation @ turn(angle)
        origin = origin + rotation[:, 1]  # a bone of length 1
        return (rotation, origin), (rotation, origin)

    _, (rotations, origins) = lax.scan(joint, (jnp.eye(3), jnp.zeros(3)), angles)
    moved = jnp.einsum("jab,vb->vja", rotations, REST) + origins
    return jnp.mean(((jnp.einsum("vj,vja->va", BLEND, moved) + shift - TARGETS) ** 2).sum(1))


@listed(rng.normal(size=JOINTS * 3 + 3) / 3, ht_in_jax)
def ht():
    theta = values(np.zeros(JOINTS * 3 + 3))
    angles, shift = theta[:-3].reshape(JOINTS, 3), theta[-3:]

    def turned(angle, x):
        for (i, j), a in zip([(1, 2), (2, 0), (0, 1)], angle, strict=True):
            cos, sin, x = a.cos(), a.sin(), [*x]
            x[i], x[j] = cos * x[i] - sin * x[j], sin * x[i] + cos * x[j]
        return x

    def squared(x, blend, target):
        total = [*shift]
        for last in range(JOINTS):
            moved = turned(angles[last], [x[0], x[1] + 1, x[2]])
            for angle in reversed(angles[:last]):
                moved = turned(angle, [moved[0], moved[1] + 1, moved[2]])
            total = [a + blend[last] * b for a, b in zip(total, moved, strict=True)]
        return sum((a - b) ** 2 for a, b in zip(total, target, strict=True))

    return squared, theta, (REST, BLEND, TARGETS)


# ---- lstm: the next character's probability, by a recurrent network with diagonal weights

WIDTH, LENGTH = 14, 40
LETTERS = (rng.random((LENGTH, WIDTH)) < 0.2).astype(float)


def lstm_in_jax(theta):
    weights, biases = theta.reshape(2, 4, WIDTH)

    def step(carried, letters):
        (hidden, cell), (x, following) = carried, letters
        forget = jax.nn.sigmoid(x * weights[0] + biases[0])
        enter = jax.nn.sigmoid(hidden * weights[1] + biases[1])
        leave = jax.nn.sigmoid(x * weights[2] + biases[2])
        cell = cell * forget + enter * jnp.tanh(hidden * weights[3] + biases[3])
        hidden = leave * jnp.tanh(cell)
        loss = jax.nn.logsumexp(hidden) * following.sum() - (hidden * following).sum()
        return (hidden, cell), loss

    start = jnp.full(WIDTH, 0.1), jnp.full(WIDTH, 0.2)
    _, losses = lax.scan(step, start, (LETTERS[:-1], LETTERS[1:]))
    return losses.mean()


@listed(rng.normal(size=8 * WIDTH), lstm_in_jax)
def lstm():
    theta = values(np.zeros(8 * WIDTH))
    weights, biases = theta.reshape(2, 4, WIDTH)

    def loss():
        hidden, cell, total = np.full(WIDTH, 0.1), np.full(WIDTH, 0.2), 0.0
        for x, following in pairwise(LETTERS):
            forget = (x * weights[0] + biases[0]).sigmoid()
            enter = (hidden * weights[1] + biases[1]).sigmoid()
            leave = (x * weights[2] + biases[2]).sigmoid()
            cell = cell * forget + enter * (hidden * weights[3] + biases[3]).tanh()
            hidden = leave * cell.tanh()
            total = total + np.exp(hidden).sum().log() * following.sum() - (hidden @ following)
        return total / (LENGTH - 1)

    return loss, theta, ()


# ---- ode: a chain of reactions, integrated by Runge and Kutta's method

CHAIN, STEPS = 8, 50


def integrated(theta, slopes, start, loop):
    """The state after STEPS steps to t = 2; `loop` does a step so many times."""
    h = 2 / STEPS

    def step(x):
        a = slopes(theta, x)
        b = slopes(theta, x + h / 2 * a)
        c = slopes(theta, x + h / 2 * b)
        d = slopes(theta, x + h * c)
        return x + h / 6 * (a + 2 * b + 2 * c + d)

    return loop(step, start)


def ode_in_jax(theta):
    def slopes(theta, x):
        return theta * jnp.concatenate([jnp.ones(1), x[:-1]])

    def loop(step, start):
        return lax.fori_loop(0, STEPS, lambda _, x: step(x), start)

    return integrated(theta, slopes, jnp.zeros(CHAIN), loop)[-1]


@listed(rng.uniform(0.5, 1.5, CHAIN), ode_in_jax)
def ode():
    theta = values(np.zeros(CHAIN))

    def slopes(theta, x):
        return theta * np.concatenate([[1.0], x[:-1]])

    def loop(step, x):
        for _ in range(STEPS):
            x = step(x)
        return x

    return lambda: integrated(theta, slopes, np.zeros(CHAIN), loop)[-1], theta, ()


# ---- particle: where a charged particle lands that others push away

OTHERS, MOVES = np.array([[10.0, 10.0], [10.0, 0.0]]), 60


def particle_in_jax(theta):
    def potential(x):
        return theta[0] * sum(1 / jnp.sqrt(jnp.sum((x - other) ** 2)) for other in OTHERS)

    def move(_, carried):
        x, v = carried
        return x + 0.1 * v, v - 0.1 * jax.grad(potential)(x)

    start = jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0])
    x, _ = lax.fori_loop(0, MOVES, move, start)
    return jnp.sum(x**2)


@listed([1.3], particle_in_jax)
def particle():
    theta = values([0.0])

    def potential(x, y):
        far = [((x - a) ** 2 + (y - b) ** 2).sqrt() for a, b in OTHERS.tolist()]
        return theta[0] * sum(1 / r for r in far)

    def landed():
        x, y, u, v = 0.0, 8.0, 0.75, 0.0
        for _ in range(MOVES):
            du, dv = gradient(potential, [x, y])
            x, y, u, v = x + 0.1 * u, y + 0.1 * v, u - 0.1 * du, v - 0.1 * dv
        return x**2 + y**2

    return landed, theta, ()


# ---- saddle: the point that one player lowers and another one raises

DESCENTS = 15


def saddle_in_jax(theta):
    def payoff(x, y):
        return jnp.sum(x**2) - jnp.sum(y**2) + x[0] * y[1]

    def best(x):
        def move(_, y):
            return y + 0.2 * jax.grad(payoff, argnums=1)(x, y)

        return payoff(x, lax.fori_loop(0, DESCENTS, move, jnp.ones(2)))

    return best(theta)


@listed([1.0, 0.5], saddle_in_jax)
def saddle():
    theta = values([0.0, 0.0])

    def payoff(x, y):
        return x[0] ** 2 + x[1] ** 2 - y[0] ** 2 - y[1] ** 2 + x[0] * y[1]

    def best():
        y = [1.0, 1.0]
        for _ in range(DESCENTS):
            slopes = gradient(lambda *y: payoff(theta, y), y)
            y = [a + 0.2 * slope for a, slope in zip(y, slopes, strict=True)]
        return payoff(theta, y)

    return best, theta, ()


# ---- det: a determinant by minors

SIDE = 6


def determinant(rows, columns, number):
    """The determinant of these rows and columns; `number` gives an entry."""
    if not rows:
        return 1.0
    first, *rest = rows
    total = 0.0
    for k, column in enumerate(columns):
        minor = determinant(tuple(rest), (*columns[:k], *columns[k + 1 :]), number)
        total = total + (-1) ** k * number(first, column) * minor
    return total


def det_in_jax(theta):
    return jnp.linalg.det(theta.reshape(SIDE, SIDE))  # by minors, JAX compiles for minutes


@listed(rng.normal(size=SIDE**2), det_in_jax)
def det():
    theta = values(np.zeros(SIDE**2))
    whole = tuple(range(SIDE))
    return lambda: determinant(whole, whole, lambda i, j: theta[SIDE * i + j]), theta, ()


# ---- kmeans: the distance of points to the nearest of some centres

CENTRES = 8


def kmeans_in_jax(theta):
    distances = ((POINTS[:, None] - theta.reshape(CENTRES, D)) ** 2).sum(2)
    return distances.min(1).mean()


@listed(rng.normal(size=CENTRES * D), kmeans_in_jax)
def kmeans():
    theta = values(np.zeros(CENTRES * D))
    centres = theta.reshape(CENTRES, D)

    def nearest(x):
        distances = ((x - centres) ** 2).sum(axis=1)
        found = distances[0]
        for distance in distances[1:]:
            found = where(distance < found, distance, found)
        return found

    return nearest, theta, (POINTS,)


# ---- the table


def timed(function: Callable[[], Any], least: float = 2e-3) -> float:
    """The seconds of a call, from as many as `least` seconds take."""
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < least:
        function()
        count += 1
    return passed / count


def measured(program: Program, rounds: int) -> str:
    """The cells of a row: microseconds, their ratio, seconds of the first calls, the difference."""
    start = time.perf_counter()
    function, parameters, arguments = program.ours()
    compiled = micrograd.compile(function)
    ours = partial(compiled.value_and_grad, program.theta, *arguments, parameters=parameters)
    value, slopes = ours()
    middle = time.perf_counter()
    jitted = jax.jit(jax.value_and_grad(program.in_jax))

    def theirs() -> Any:
        value, slopes = jitted(program.theta)
        return float(value), np.asarray(slopes)

    expected, expected_slopes = theirs()
    first = [middle - start, time.perf_counter() - middle]
    scale = max(1.0, abs(expected), np.abs(expected_slopes).max())
    gap = max(abs(value - expected), np.abs(slopes - expected_slopes).max()) / scale
    if not gap < 1e-9:
        raise ValueError(f"the two forms differ by {gap:.2g} of their size")
    times = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    a, b = (1e6 * median(column) for column in zip(*times, strict=True))
    ratio = median(x / y for x, y in times)
    return f"{a:10.1f} {b:10.1f} {ratio:8.2f} {first[0]:8.2f} {first[1]:8.2f} {gap:10.0e}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Compares compiled programs with JAX.")
    parser.add_argument("--only", nargs="*", choices=[*PROGRAMS], default=[*PROGRAMS])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()},")
    print("microseconds of a value and its gradient, and seconds of the first call:\n")
    print(f"{'':10}{'micrograd':>10} {'JAX':>10} {'ratio':>8} {'first':>8} {'JAX':>8} {'gap':>10}")
    for name in options.only:
        print(f"{name:10}{measured(PROGRAMS[name], options.rounds)}", flush=True)


if __name__ == "__main__":
    main()
