# %% [markdown]
# # From scalars to arrays
#
# A network in this package is written for one example and in single numbers, because that is how
# one understands it. It runs over a thousand examples as fast as matrix code, because that is how
# one wants to train it. Between the two stands `micrograd.compile`, and this notebook opens it up.
#
# | part | minutes |
# |---|---|
# | 1. A scalar program | 2 |
# | 2. Arrays of Values | 4 |
# | 3. Mini-batches: the graph grows, the program does not | 4 |
# | 4. `micrograd.compile` | 4 |
# | 5. Stage by stage: instructions, lanes, dots, groups | 10 |
# | 6. Where the speed comes from | 3 |
# | 7. What cannot be compiled | 3 |
# | 8. All of it at work | 2 |
#
# It goes well after `lecture.ipynb` and `backprop_in_pictures.ipynb`. Where a cell ends in a
# question, answer it before you run the next cells: what they show is not saved here.

# %%
import random
import re

import matplotlib.pyplot as plt
import numpy as np

import micrograd
from micrograd import (
    Value,
    draw_dot,
    draw_network,
    no_grad,
    sum_over_paths,
    take,
    topological_order,
    where,
)
from micrograd.arrays import data_of, grad_of, values
from micrograd.compiler.dots import fused
from micrograd.compiler.lanes import averaged, in_lanes, needed
from micrograd.compiler.record import recorded
from micrograd.compiler.run_numpy import NumPyRun
from micrograd.compiler.schedule import order_of_use, scheduled
from micrograd.datasets import moons
from micrograd.losses import hinge
from micrograd.nn import MLP
from micrograd.optim import SGD
from micrograd.plot import decision_boundary
from micrograd.trace import TraceError, trace

# %% [markdown]
# ## 1. A scalar program
#
# One neuron and one example: two inputs $x_1, x_2$, a target $y$, and the squared error
#
# $$ \ell(x, y) = (\tanh(w_1 x_1 + w_2 x_2 + b) - y)^2 $$
#
# The function is called once and leaves a graph behind.


# %%
w1, w2, b = Value(0.5, label="w1"), Value(-1.0, label="w2"), Value(0.25, label="b")


def error(x, y):
    """The squared error of a neuron for one example: a list of two numbers and a target."""
    return ((w1 * x[0] + w2 * x[1] + b).tanh() - y) ** 2


one = error([2.0, 1.0], 1.0)
one.backward()
draw_dot(one, names={"loss": one})

# %% [markdown]
# That is the whole idea of this package: `error` says how to get forward, nobody says how to get
# back, and each card is an object with a number, a gradient and a rule. What would this picture
# look like for a hundred examples?

# %% [markdown]
# ## 2. Arrays of Values
#
# A `Value` behaves as a number does, so it may be an element of a NumPy array. Then `@` is the
# matrix product, shapes and broadcasting are those of NumPy, and gradients arrive as everywhere.

# %%
W = values([[0.5, -1.0], [1.5, 2.0]])
x = np.array([1.0, -2.0])
h = W @ x
print(data_of(h))
draw_dot(list(h), names={"W": W, "h": h})

# %% [markdown]
# Derivatives of matrix formulas are matrix formulas too. For $H = X W$ textbooks give
#
# $$ \frac{\partial L}{\partial W} = X^{\top}\, \frac{\partial L}{\partial H} $$
#
# Nobody has told this to our Values, which know `+` and `*`. Will it come out?

# %%
rng = np.random.default_rng(0)
X = rng.normal(size=(5, 3))
W = values(rng.normal(size=(3, 2)))
H = X @ W
L = np.tanh(H).mean()
L.backward()
print(np.round(grad_of(W), 6))
print(np.abs(grad_of(W) - X.T @ grad_of(H)).max() < 1e-15)

# %% [markdown]
# Each number in this formula is a sum of products, and that is worth remembering: part 5 will find
# the matrix product again, from the other end.
#
# So is it fast now? What NumPy does here is a loop over objects. How many nodes does $X W$ have
# for $n$ examples, if $W$ is $3 \times 2$?


# %%
def number_of_nodes(*roots):
    """How many nodes the graph of these results has."""
    return len(topological_order(*roots))


for n in (1, 10, 100, 1000):
    print(f"{n:5} examples {number_of_nodes(*(rng.normal(size=(n, 3)) @ W).flat):6} nodes")

# %% [markdown]
# For each example 6 products, for each product the number it meets, and 4 sums; only the 6 weights
# are there once. Arrays of Values spare us loops when we write, not when we run.

# %% [markdown]
# ## 3. Mini-batches: the graph grows, the program does not
#
# Training minimises the mean over examples,
#
# $$ L = \frac{1}{n} \sum_{i=1}^{n} \ell(x_i, y_i) $$
#
# Here it is for two examples. A weight now stands on several paths to the loss.

# %%
examples = [([2.0, 1.0], 1.0), ([-1.0, 0.5], -1.0)]
mean = sum(error(x, y) for x, y in examples) / len(examples)
for p in (w1, w2, b):
    p.grad = 0
mean.backward()
draw_dot(mean, names={"L": mean})

# %% [markdown]
# How many paths lead from $w_1$ to $L$, and through what does each of them go?

# %%
sum_over_paths(mean, w1, names={"L": mean})

# %% [markdown]
# One path for each example: **the gradient of the mean is the mean of the gradients**. That is why
# a few examples, a mini-batch, tell roughly where all of them would go, and why the mean over
# several batches of one size is the answer for all.

# %%
points, labels = moons(12, seed=1)
everything = [(x, 2.0 * k - 1.0) for x, k in zip(points, labels, strict=True)]


def gradient_by_w1(batch):
    """The derivative of the mean error by w1."""
    w1.grad = 0
    (sum(error(x, y) for x, y in batch) / len(batch)).backward()
    return w1.grad


batches = [everything[i : i + 4] for i in range(0, 12, 4)]
print("of three batches:", *(f"{gradient_by_w1(batch):.4f}" for batch in batches))
print("their mean:      ", f"{np.mean([gradient_by_w1(batch) for batch in batches]):.4f}")
print("of all examples: ", f"{gradient_by_w1(everything):.4f}")

# %% [markdown]
# Look at the picture of two examples again: it is the same drawing twice, with a sum at the end. A
# graph tells each example's story anew, though `error` is one text of one line. How many nodes
# will there be, and how many lines of program?

# %%
print("examples  nodes  operations in the text of `error`")
operations = number_of_nodes(one) - 3 - 3  # without the 3 parameters and the 3 numbers
for n in (1, 2, 4, 12, 1200):
    batch = (everything * 100)[:n]
    mean = sum(error(x, y) for x, y in batch) / n
    print(f"{n:8} {number_of_nodes(mean):6} {operations:6}")

# %% [markdown]
# An array program is what you get when you keep the text and let every variable hold a row of
# numbers, one for each example. In this row an example has a place, which is called its **lane**.

# %% [markdown]
# ## 4. `micrograd.compile`
#
# Now with a network: two inputs, three hidden neurons, one output. The loss of an example is how
# far its score falls short of a margin (`hinge`, with a target of -1 or 1), and a penalty on large
# weights. Weights and bias of hidden neuron $i$ are called `wi0`, `wi1`, `bi`, those of the output
# `v0`, `v1`, `v2`, `c`; we shall meet them again.

# %%
random.seed(3)
model = MLP(2, [3, 1])
letters = ["w00", "w01", "b0", "w10", "w11", "b1", "w20", "w21", "b2", "v0", "v1", "v2", "c"]
for p, letter in zip(model.parameters(), letters, strict=True):
    p.label = letter


def example_loss(x, y):
    """The loss at one point: a list of two numbers and a target."""
    return hinge(model(x), y) + 0.001 * sum(p * p for p in model.parameters())


points, labels = moons(16, seed=0)
X, y = np.array(points), 2.0 * np.array(labels) - 1.0
draw_network(model)

# %% [markdown]
# The old way first: call the function for each example, take the mean, go back.


# %%
def written_out():
    """The mean loss over the rows of X and y, as a graph."""
    pairs = zip(X.tolist(), y.tolist(), strict=True)
    return sum(example_loss(*pair) for pair in pairs) / len(X)


eager = written_out()
model.zero_grad()
eager.backward()
expected = [p.grad for p in model.parameters()]
print(f"loss {eager.data:.6f} from a graph of {number_of_nodes(eager)} nodes")

# %% [markdown]
# And compiled. The function is the same and still speaks of one example; only what it is called
# with has an axis more, that of the examples. What comes back behaves like the mean.

# %%
loss = micrograd.compile(example_loss)  # or @micrograd.compile on top of the function
batch = loss(X, y)
model.zero_grad()
batch.backward()
found = [p.grad for p in model.parameters()]

print(f"loss {batch.data:.6f}")
assert abs(batch.data - eager.data) < 1e-12
assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)

# %% [markdown]
# `lanes` has the result of each example, in its order. Which point of the 16 is the hardest, and
# is its loss the one that the function gives for this point alone?

# %%
hardest = int(batch.lanes.argmax())
print(batch.lanes.round(3))
print(f"number {hardest}: {batch.lanes[hardest]:.6f}")
print(f"by itself: {example_loss(X[hardest].tolist(), y[hardest].item()).data:.6f}")

# %% [markdown]
# A training loop need not know what it is that goes backward. Ten steps each, from the same start.
# Up to which digit will the losses agree?


# %%
def trained(mean_loss, steps=10):
    """The losses of some steps of training."""
    optimizer = SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        mean = mean_loss()
        mean.backward()
        optimizer.step()
        losses.append(mean.data)
    return losses


start = model.state_dict()
slow = trained(written_out)
model.load_state_dict(start)
fast = trained(lambda: loss(X, y))
model.load_state_dict(start)

print(*(f"{number:.6f}" for number in slow[:3]), "...", f"{slow[-1]:.6f}")
print(*(f"{number:.6f}" for number in fast[:3]), "...", f"{fast[-1]:.6f}")
assert np.allclose(slow, fast, rtol=1e-12)

# %% [markdown]
# A program is made for examples of one shape, when the first of them comes. Another number of
# examples is no other shape. How many programs are there after these calls?

# %%
loss(X[:3], y[:3])
loss(X[0:1], y[0:1])
loss(np.concatenate([X] * 50), np.concatenate([y] * 50))
print(len(loss.programs))

# %% [markdown]
# ## 5. Stage by stage: instructions, lanes, dots, groups
#
# `compile` is a few passes, each a short file of the folder `compiler`. Here we call them one
# after the other, on the loss of part 4.
#
# ### Instructions
#
# `Value` never asks what kind of number its `data` is. So call the function with numbers that
# compute nothing and only write down what is done to them. Then call `backward()`: the same
# closures run that always run, and they are written down in the same list.

# %%
found = recorded(example_loss, [(2,), ()])
recording, parameters, places = found.recording, found.parameters, found.places
[result], gradients = found.results, found.gradients
steps = recording.instructions
names = {0: "x_0", 1: "x_1", 2: "y", result: "loss"}
names.update({place: p.label for place, p in zip(places, parameters, strict=True)})


def name_of(place):
    """How to call the result of the instruction at this place."""
    step = steps[place]
    return f"{step.number}" if step.op == "constant" else names.get(place, f"t{place}")


def written(place):
    """An instruction as a line."""
    step, operands = steps[place], [name_of(i) for i in steps[place].operands]
    is_word = step.op.isidentifier() or len(operands) == 1
    text = f"{step.op}({', '.join(operands)})" if is_word else f" {step.op} ".join(operands)
    return f"{name_of(place)} = {text}"


wanted = [i for i in needed(steps, [result, *gradients]) if steps[i].operands]
forward = [i for i in wanted if i <= result]
backward = [i for i in wanted if i > result]
print(*(written(i) for i in forward[:8]), "...", written(forward[-1]), sep="\n")

# %% [markdown]
# Everybody could have written that. Now the second half of the list, from where it enters the
# hinge until it has found what one weight is owed. Where is the chain rule?

# %%
start = next(i for i in backward if steps[i].op == ">")
print(*[written(i) for i in backward if i >= start][:9], sep="\n")

# %% [markdown]
# There it is, and nobody wrote it into the compiler:
#
# - `t97` and `t98` are the closure of `relu`, `where(a > 0, upstream, 0)`, with the upstream
#   gradient 1 of the loss;
# - `t99` and `t100` are those of `-` and `*` in $1 - s\,y$, so `t100` is what the score is owed;
# - `t102` is what `v2` is owed for it, the output of hidden neuron 2 times `t100`, and `t103` is a
#   `+=`: the penalty has already given its share;
# - `t104` hands on to hidden neuron 2, and there the next ReLU waits.
#
# Forward and backward are one program from here on; no later pass asks which is which.
#
# The list is shorter than what was done. Constants were computed at once, `0 + x` and `1 * x` are
# `x`, and what was there already was not written again. Chapter 8, whose recordings are for
# looking at, keeps it all. How much of it was of use?

# %%
whole = trace(example_loss([0.5, 1.5], 1.0)).instructions
print("what operations and closures did:", sum(bool(step.operands) for step in whole))
print("simplified, and needed:          ", len(wanted))

# %% [markdown]
# ### Lanes
#
# Some of this is another number in every example, some is not. What depends on parameters and
# constants alone is called **uniform**; it is computed once. The result is a mean over the lanes,
# so are the gradients, and a mean may move inwards until it meets what is in lanes:
#
# $$ \operatorname{mean}(u + x) = u + \operatorname{mean}(x), \qquad
#    \operatorname{mean}(u\,x) = u \operatorname{mean}(x) $$
#
# What becomes of the penalty $0.001 \sum p^2$ and its derivatives?

# %%
means = averaged(recording, [result, *gradients], set(places))
steps = recording.instructions
in_lane = in_lanes(steps, set(places))
wanted = [i for i in needed(steps, [*means, result]) if steps[i].operands]
print(sum(in_lane[i] for i in wanted), "in every lane, such as", written(forward[-1]))
print(sum(not in_lane[i] for i in wanted), "once:")
once = [i for i in wanted if not in_lane[i]]
print(*map(written, [*once[:3], *once[24:28]]), "...", *map(written, once[-4:]), sep="\n")

assert loss.instructions == steps  # what the compiled function shows

# %% [markdown]
# The penalty has left the lanes, and with it more than half of the program. `c * 0.001`, twice:
# that is the derivative of `p * p`, which has two edges to the same node.

# %% [markdown]
# ### Dots
#
# The pass that makes the difference is of the simplest kind. A tree of additions whose inner nodes
# nobody else uses becomes **one** instruction with any number of operands, a sum of products:
#
# $$ \text{dot} = \sum_k \text{left}_k\, \text{right}_k $$
#
# A bias is a weight as well, of an input that is always 1. Which three kinds of dots would you
# expect in a network?

# %%
fusion = fused(steps, [*means, result], set(places))
units = fusion.units


def shown(place):
    """A unit as a line; the place -1 is an input of 1 in every lane."""
    op, lists, *_ = units[place]
    texts = [" ".join("1" if i == -1 else name_of(i) for i in some) for some in lists]
    return f"{name_of(place)} = {op}({' | '.join(filter(None, texts))})"


print(len(wanted), "instructions,", len(units), "units")
print("\nneurons:", *(shown(i) for i in units if units[i].op == "dot" and in_lane[i]), sep="\n")
[penalty] = [i for i in units if units[i].op == "dot" and len(units[i].operands[0]) > 4]
print("\nthe penalty:", shown(penalty), sep="\n")
owed = [i for i in units if units[i].op == "mean"]
print("\ngradients, summed over the lanes:", *map(shown, owed[:6]), "...", sep="\n")

# %% [markdown]
# A neuron is a dot, with its bias as the weight of a 1. The gradient of a weight is a dot along
# the lanes, of what came in with what is owed. The third kind is what a neuron is owed itself, a
# sum over all who listen: weight times upstream gradient. Here only the output listens, and a sum
# of one product stays a product; in part 6 there will be sixteen.

# %% [markdown]
# ### Groups
#
# What need not wait for one another and does the same can be done at the same time: a **group**.
# And some dots belong together even more closely. Write the gradients of the hidden layer as a
# table, a row for each left list, a column for each right list:

# %%
place_of = {units[i].operands: i for i in owed}
inputs, neurons = [(0,), (1,), (-1,)], [i for i in units if units[i].op == "where >"][1:]
print("        ", *(f"{name_of(i):>6}" for i in neurons))
for left in inputs:
    row = [place_of[left, (i,)] for i in neurons]
    print(f"{'1' if left == (-1,) else name_of(left[0]):8}", *(f"{name_of(i):>6}" for i in row))

# %% [markdown]
# Every left list meets every right list, and no place is empty. A full grid of dots, result $(r,
# l)$ from right list $r$ and left list $l$, is nothing but a **matrix product**. So the compiler
# looks for full grids, by putting lists into a dictionary. It has never heard of layers.
#
# In part 2 we saw that matrix formulas fall apart into sums of products; here they are put
# together again. How many matrix products will it find in the loss, forward and backward?

# %%
order = order_of_use(fusion, places)  # of parameters, so that matrices lie as they are written
parameters, places = [parameters[i] for i in order], [places[i] for i in order]
means[1:] = [means[1 + i] for i in order]
schedule = scheduled(fusion, steps, [range(2), range(2, 3)], places, [*means, result])
for title, groups in (
    ("once:", schedule.before),
    ("in every lane, and means over lanes:", schedule.lanes),
    ("once, from means:", schedule.after),
):
    print(title)
    print(*(f"    {group!r}" for group in groups), sep="\n")

assert list(map(repr, loss.groups)) == list(map(repr, schedule.groups))

# %% [markdown]
# The first matrix product is the hidden layer with its biases; the output has only one neuron and
# is a sum of 4 products, in lanes. The last two are gradients, and one of them is our table.
#
# Here is the program as a picture, from the inputs down to the gradients.

# %%
draw_dot(loss, rankdir="TB")

# %% [markdown]
# ### The run
#
# A program has two memories: a vector for what is uniform, and for what is in lanes a matrix with
# a row for each number and a column for each example. The results of a group lie side by side, so
# that the next group finds its operands in order, mostly as a view. To run means to fill in
# parameters and inputs and do one group after the other. NumPy does each in a call or a few:

# %%
run = NumPyRun(schedule, 16)
run.uniform[:13] = [p.data for p in parameters]
run.lanes[:2], run.lanes[3] = X.T, y  # row 2 is 1 in every lane
run()

slots = [slot for _, slot in schedule.results]
assert abs(run.uniform[slots[0]] - eager.data) < 1e-12
assert np.allclose(run.uniform[slots[1:14]], expected, rtol=1e-12, atol=1e-12)
print(f"loss {run.uniform[slots[0]]:.6f}, and 13 gradients as by hand")

# %% [markdown]
# Now the memory of the lanes is full, and we can look at it: sixteen examples side by side, going
# forward and backward from top to bottom. Blue is negative, red positive, white 0. Which rows are
# white in some lanes, and what have they to do with one another?

# %%
rows, ends, ticks = [0, 1, 3], [2, 3], [(0.5, "x"), (2, "y")]
for group in schedule.lanes:
    if group.result.lanes:
        slots = group.result.slots.ravel().tolist()
        ticks.append((len(rows) + len(slots) / 2 - 0.5, repr(group).removesuffix(" in lanes")))
        rows += slots
        ends.append(len(rows))

figure, ax = plt.subplots(figsize=(6.4, 4.6), dpi=80)
ax.imshow(run.lanes[rows], cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto", interpolation="nearest")
ax.hlines([end - 0.5 for end in ends], -0.5, 15.5, color="black", linewidth=0.8)
ax.yaxis.tick_right()
ax.set_yticks([place for place, _ in ticks], [text for _, text in ticks], fontsize="small")
ax.set_xlabel("lane")
figure.tight_layout()

# %% [markdown]
# Where a ReLU lets nothing through, nothing is owed: what is white in `relu of 3` is white in
# `where > of 3`.
#
# ### The same as text
#
# The last form of a program is one that Python runs without NumPy. Nothing in it is new, and the
# loop has come back: for every example, forward, backward, add up.

# %%
print(loss.source)

namespace = {}
exec(loss.source, namespace)
value, gradient = namespace["program"](
    [p.data for p in parameters], [(x0, x1, t) for (x0, x1), t in zip(X, y, strict=True)]
)
assert np.allclose(gradient, expected, rtol=1e-12, atol=1e-12)

# %% [markdown]
# ## 6. Where the speed comes from
#
# Not from less arithmetic. Take a larger network, 2-16-16-1, and a hundred points. Before you
# look: how many objects does the graph have, and how many groups the program?

# %%
random.seed(0)
large = MLP(2, [16, 16, 1])


def large_loss(x, y):
    """The hinge loss with a penalty, at one point."""
    return hinge(large(x), y) + 1e-4 * sum(p * p for p in large.parameters())


points, labels = moons(100, seed=0)
X, y = np.array(points), 2.0 * np.array(labels) - 1.0

nodes = number_of_nodes(*(large_loss(*pair) for pair in zip(X.tolist(), y.tolist(), strict=True)))
program = micrograd.compile(large_loss)
program(X, y)
found = recorded(large_loss, [(2,), ()])
means = averaged(found.recording, [found.results[0], *found.gradients], set(found.places))
steps = found.recording.instructions
fusion = fused(steps, means, set(found.places))
schedule = scheduled(fusion, steps, [range(2), range(2, 3)], found.places, means)

stages = {
    "nodes of the graph": nodes,
    "instructions": sum(bool(steps[i].operands) for i in needed(steps, means)),
    "units": len(fusion.units),
    "groups": len(schedule.groups),
}
for name, number in stages.items():
    print(f"{name:20} {number:6}")

figure, ax = plt.subplots(figsize=(6, 1.9), dpi=80)
ax.barh(list(stages), list(stages.values()), color="tab:blue")
ax.invert_yaxis()
ax.set(xscale="log", xlim=(1, 1e6), xlabel="things that Python handles in a step")
figure.tight_layout()

# %% [markdown]
# In each step the engine makes every node, visits it for the topological order, and calls its
# closure. Each of these costs Python hundreds of times what the multiplication costs the
# processor. The program handles its groups, and in each of them a loop in machine code goes over
# the lanes. A batch ten times as large has ten times as many nodes; the other three numbers stay.
#
# And most of the arithmetic sits where processors are best. How much of it is inside of matrix
# products, and which of them is the third kind of dots, what the first hidden layer is owed by the
# second?
#
# The third reason is memory. A node is a handful of Python objects, over 300 bytes in all, and
# they lie wherever there was room. A program has its two memories, filled anew in each step.


# %%
def operations_of(group, n):
    """How many multiplications, additions and so on a group does for n examples."""
    along = n if group.result.lanes or group.op == "mean" else 1
    if group.op in ("dot", "mean"):
        terms = sum(block.slots.shape[-1] for block in group.operands[2:])
        return group.result.slots.size * (2 * group.operands[0].slots.shape[-1] + terms) * along
    return group.result.slots.size * along


total = sum(operations_of(group, 100) for group in schedule.groups)
grids = [group for group in schedule.groups if "matrix product" in repr(group)]
inside = sum(operations_of(group, 100) for group in grids)
print(*grids, sep="\n")
print(f"{total} operations, {inside / total:.0%} of them in these {len(grids)} groups")

uniform, rows = schedule.sizes
print(f"graph:   over {nodes * 300 / 1e6:.0f} MB, made and thrown away in each step")
print(f"program: {8 * (uniform + rows * 100) / 1e6:.2f} MB, made once")

# %% [markdown]
# What the first hidden layer is owed is the product of 16 x 16, without a bias, since nothing is
# owed to a 1; written by hand it would be $W^{\top}$ times upstream gradients. And a program of
# this size fits into the cache of a core. A batch that does not goes through in tiles, some lanes
# at a time.
#
# ### The table
#
# Times belong to a machine, so there are none in this notebook. On yours
#
#     python demos/benchmark.py --only peers
#
# prints the table: the engine, each executor of the compiler, NumPy by hand, and those of PyTorch,
# JAX and CasADi that are installed.

# %% [markdown]
# ## 7. What cannot be compiled
#
# The function is called with numbers that only record. Who asks one of them whether it is positive
# gets no answer, since there would be another one in each lane.


# %%
def refusal(function, *arguments):
    """Prints what the compiler says, but for the name of the file: a cell has none."""
    try:
        micrograd.compile(function)(*arguments)
    except TraceError as error:
        print(re.sub(r"at \S*, line", "in line", str(error)))


slope = Value(2.0, label="slope")


def kinked(x):
    """A line that is less steep on the left."""
    if x > 0:
        return slope * x
    return 0.1 * slope * x


refusal(kinked, [1.0, -2.0])

# %% [markdown]
# A choice on data has to be an operation of its own, which computes both sides and picks in each
# lane: `where(condition, a, b)`, `maximum`, `minimum`, `relu`. What will the gradient of `slope`
# be for these two points?


# %%
@micrograd.compile
def kinked(x):
    """The same."""
    return where(x > 0, slope * x, 0.1 * slope * x)


@micrograd.compile
def as_maximum(x):
    """The same, as long as the slope is positive."""
    return (slope * x).maximum(0.1 * slope * x)


for function in (kinked, as_maximum):
    slope.grad = 0
    batch = function([1.0, -2.0])
    batch.backward()
    print(batch.lanes, round(slope.grad, 6))

# %% [markdown]
# The same goes for `max()`, for sorting, for `float()` and the functions of `math`, and for a
# number as an index. There, too, the error names the way out.

# %%
table = [Value(1.0), Value(2.0), Value(3.0), Value(4.0)]
refusal(lambda token: table[token] ** 2, [0, 2])

# %% [markdown]
# `take(table, index)` looks up in each lane. Going back, each entry gets what is owed by those who
# took it. Which entries get a gradient of 0 here?


# %%
@micrograd.compile
def pair(tokens):
    """The product of the entries of two tokens."""
    return take(table, tokens[0]) * take(table, tokens[1])


batch = pair([[0, 2], [2, 2], [0, 1]])
batch.backward()
print(batch.lanes)
print([round(entry.grad, 6) for entry in table])
print(*pair.groups, sep="\n")

# %% [markdown]
# `if` is fine where it asks for something that is known when the program is made: the length of a
# list, the depth of a network, a setting. It is then part of the program, as every plain number
# from outside. What will the second line be, and what the third?

# %%
factor = 1.0
scaled = micrograd.compile(lambda x: factor * slope * x)
print(scaled([1.0, 2.0]).lanes)
slope.data = 3.0
print(scaled([1.0, 2.0]).lanes)
factor = 10.0
print(scaled([1.0, 2.0]).lanes)

# %% [markdown]
# Values from outside are parameters: their data are read in each call. The plain `factor` is a
# constant of the program. But each call first compares what the function reads with what it was
# when it was recorded, and after a change it records the function again.
#
# One thing changes: where the engine stops with an error, such as the logarithm of a negative
# number, a program goes on with what IEEE arithmetic has for it: NaN, in that lane alone.

# %% [markdown]
# ## 8. All of it at work
#
# Two hundred points, a network of 337 parameters, three hundred steps with mini-batches of 50. The
# loss is the scalar function from above. The picture asks the model at thousands of points on a
# grid; it is compiled, too, and is called with all of them at once.

# %%
points, labels = moons(200, noise=0.15, seed=0)
X, y = np.array(points), 2.0 * np.array(labels) - 1.0

random.seed(0)
large = MLP(2, [16, 16, 1])
loss = micrograd.compile(large_loss)
optimizer = SGD(large.parameters(), lr=0.3)
losses = []
for _ in range(300):
    some = random.sample(range(len(X)), 50)
    batch = loss(X[some], y[some])
    optimizer.zero_grad()
    batch.backward()
    optimizer.step()
    losses.append(batch.data)

predict = micrograd.compile(large)
with no_grad():
    correct = (predict(X).lanes > 0) == (y > 0)
print(f"{len(large.parameters())} parameters, {correct.sum()} of {len(X)} points on the right side")

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8), dpi=75, width_ratios=[3, 2])
decision_boundary(predict, X, labels, ax=left)
right.plot(losses, color="black", linewidth=0.8)
right.set(xlabel="step", ylabel="loss of the mini-batch", ylim=(0, max(losses)))
figure.tight_layout()

# %% [markdown]
# ## Questions to take home
#
# 1. Compile the loss of part 4 with three outputs and `cross_entropy`. Which groups are new, and
#    which of them would you have written by hand?
# 2. Take the penalty out of `example_loss`. How many instructions go, how many groups? And why do
#    so few of them matter for the time of a step?
# 3. Share a weight between two neurons of a layer (`model.layers[0].neurons[1].w[0] = ...`). Does
#    the compiler still find the matrix product? Look at the table of part 5 to see why.
# 4. Write a function with `where(x > 0, x.log(), 0)` for a Value `x`, and call it with -1 and 0,
#    eagerly and compiled. What do you get, what does the gradient say, and which order of `where`
#    and `log` is safe?
# 5. A recurrent network applies one neuron ten times in a row. Draw its compiled program
#    (`draw_dot(loss)`). What can be done at the same time, and what cannot?
# 6. Make an operation of your own, as in the lecture, with a closure that uses arithmetic alone.
#    Compile a function that uses it. Who told the compiler its derivative?
