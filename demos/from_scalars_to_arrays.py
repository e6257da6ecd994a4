# %% [markdown]
# # From scalars to arrays
#
# In this package you write a network for one example and in single numbers, because it is easier to
# understand that way. For training it runs on a thousand examples as fast as matrix code.
# `micrograd.compile` connects the two, and this notebook shows how it works inside.
#
# | part | minutes |
# |---|---|
# | 1. A scalar program | 2 |
# | 2. Arrays of Values | 4 |
# | 3. Mini-batches: the graph grows, the program does not | 4 |
# | 4. `micrograd.compile` | 4 |
# | 5. Stage by stage: instructions, lanes, sums of products, groups | 10 |
# | 6. Where the speed comes from | 3 |
# | 7. Several devices | 3 |
# | 8. What cannot be compiled | 3 |
# | 9. Everything together | 2 |
#
# Read it after `lecture.ipynb` and `backprop_in_pictures.ipynb`. Where a text ends in a question,
# answer it before you run the next cells. Their output is not saved here; the answers are in
# `solutions.md`.

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
    take,
    topological_order,
    where,
)
from micrograd.arrays import data_of, grad_of, values
from micrograd.compiler.fuse import fused
from micrograd.compiler.record import recorded
from micrograd.compiler.run_numpy import NumPyRun
from micrograd.compiler.schedule import order_of_use, scheduled
from micrograd.compiler.simplify import averaged, needed
from micrograd.core.tracing import TraceError
from micrograd.datasets import batches, moons
from micrograd.losses import hinge
from micrograd.nn import MLP
from micrograd.optim import SGD
from micrograd.plot import decision_boundary

# %% [markdown]
# ## 1. A scalar program
#
# One neuron and one example: two inputs $x_1, x_2$, a target $y$, and the squared error
#
# $$ \ell(x, y) = (\tanh(w_1 x_1 + w_2 x_2 + b) - y)^2 $$
#
# One call of the function builds one graph.


# %%
w1, w2, b = Value(0.5, label="w1"), Value(-1.0, label="w2"), Value(0.25, label="b")


def error(x, y):
    """The squared error of a neuron for one example: a list of two numbers and a target."""
    return ((w1 * x[0] + w2 * x[1] + b).tanh() - y) ** 2


one = error([2.0, 1.0], 1.0)
one.backward()
draw_dot(one, names={"loss": one})

# %% [markdown]
# That is the whole idea of this package. `error` contains only the forward computation; the
# backward pass follows from it. Each card is an object with a number, a gradient and a derivative
# rule. What would this picture look like for a hundred examples?

# %% [markdown] tags=["answer"]
# A hundred copies of it, side by side, which share the cards of $w_1$, $w_2$ and $b$.

# %% [markdown]
# ## 2. Arrays of Values
#
# A `Value` behaves like a number, so it can be an element of a NumPy array. Then `@` is the matrix
# product, shapes and broadcasting work as in NumPy, and gradients work as before.

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
# Our Values do not know this formula. They know only `+` and `*`. Will they give the same result?

# %%
rng = np.random.default_rng(0)
X = rng.normal(size=(5, 3))
W = values(rng.normal(size=(3, 2)))
H = X @ W
L = np.tanh(H).mean()
L.backward()
print(np.round(grad_of(W), 6))
print(np.abs(grad_of(W) - X.T @ grad_of(H)).max() < 1e-15)

# %% [markdown] tags=["answer"]
# They do, up to rounding.

# %% [markdown]
# Each number in this formula is a sum of products. Remember this: part 5 goes the other
# way and finds the matrix product in such sums.
#
# Is this fast now? No: NumPy runs a loop over objects here. How many nodes does $X W$ have for $n$
# examples, if $W$ is $3 \times 2$?


# %%
def number_of_nodes(*roots):
    """The number of nodes in the graph of these results."""
    return len(topological_order(*roots))


for n in (1, 10, 100, 1000):
    print(f"{n:5} examples {number_of_nodes(*(rng.normal(size=(n, 3)) @ W).flat):6} nodes")

# %% [markdown] tags=["answer"]
# Each example has 6 products, a constant for each product, and 4 sums. Only the 6 weights are
# shared.

# %% [markdown]
# So arrays of Values save us from writing loops, but they do not save time.

# %% [markdown]
# ## 3. Mini-batches: the graph grows, the program does not
#
# Training minimises the mean over examples,
#
# $$ L = \frac{1}{n} \sum_{i=1}^{n} \ell(x_i, y_i) $$
#
# Here it is for two examples. Each weight now has several paths to the loss.

# %%
examples = [([2.0, 1.0], 1.0), ([-1.0, 0.5], -1.0)]
mean = sum(error(x, y) for x, y in examples) / len(examples)
for p in (w1, w2, b):
    p.grad = 0
mean.backward()
draw_dot(mean, names={"L": mean})

# %% [markdown]
# How many paths lead from $w_1$ to $L$, and what does each of them go through?

# %%
[f"{v._op} of {w1.data} and {v._prev[1].data}" for v in topological_order(mean) if w1 in v._prev]

# %% [markdown] tags=["answer"]
# Two: there is one path for each example.

# %% [markdown]
# **The gradient of the mean is the mean of the gradients.** So a few examples, a mini-batch, give
# roughly the same gradient as all of them. And if batches have the same size, the mean of their
# gradients is exactly the gradient of all examples.

# %%
points, labels = moons(12, seed=1)
everything = [(x, 2.0 * k - 1.0) for x, k in zip(points, labels, strict=True)]


def gradient_by_w1(batch):
    """The derivative of the mean error with respect to w1."""
    w1.grad = 0
    (sum(error(x, y) for x, y in batch) / len(batch)).backward()
    return w1.grad


parts = [everything[i : i + 4] for i in range(0, 12, 4)]
print("of three batches:", *(f"{gradient_by_w1(part):.4f}" for part in parts))
print("their mean:      ", f"{np.mean([gradient_by_w1(part) for part in parts]):.4f}")
print("of all examples: ", f"{gradient_by_w1(everything):.4f}")

# %% [markdown]
# Look at the picture of two examples again: it is the same drawing twice, with a sum at the end.
# The graph repeats everything for each example, although `error` has only one line of code. How
# many nodes will the graph have for more examples, and how many operations are in the code of
# `error`?

# %%
print("examples  nodes  operations in the code of `error`")
operations = number_of_nodes(one) - 3 - 3  # without the 3 parameters and the 3 numbers
for n in (1, 2, 4, 12, 1200):
    batch = (everything * 100)[:n]
    mean = sum(error(x, y) for x, y in batch) / n
    print(f"{n:8} {number_of_nodes(mean):6} {operations:6}")

# %% [markdown] tags=["answer"]
# For $n$ examples, almost $n$ times as many as for one. The number of operations in the code stays
# the same.

# %% [markdown]
# Keep the code of `error`, but let every variable hold a row of numbers, one for each example: that
# is an array program. The position of an example in these rows is called its **lane**.

# %% [markdown]
# ## 4. `micrograd.compile`
#
# Now take a network with two inputs, three hidden neurons and one output. The loss of an example
# has two parts: how far its score falls short of a margin (`hinge`, with a target of -1 or 1), and
# a penalty on large weights. The weights and the bias of hidden neuron $i$ are called `wi0`, `wi1`
# and `bi`, those of the output `v0`, `v1`, `v2` and `c`. The programs below use these names.

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
# First without the compiler: call the function for each example, take the mean, go backward.


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
# Now compile it. The function is the same and is still written for one example, but its arguments
# get one more axis, which runs over the examples. The result behaves like the mean.

# %%
loss = micrograd.compile(example_loss)  # or write @micrograd.compile above the function
batch = loss(X, y)
model.zero_grad()
batch.backward()
found = [p.grad for p in model.parameters()]

print(f"loss {batch.data:.6f}")
assert abs(batch.data - eager.data) < 1e-12
assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)

# %% [markdown]
# `lanes` has the results of the examples, in their order. Which of the 16 points is the hardest?
# Does the function give the same loss when it is called with this point alone?

# %%
hardest = int(batch.lanes.argmax())
print(batch.lanes.round(3))
print(f"number {hardest}: {batch.lanes[hardest]:.6f}")
print(f"by itself: {example_loss(X[hardest].tolist(), y[hardest].item()).data:.6f}")

# %% [markdown] tags=["answer"]
# Number 8 (the count starts at 0). By itself it has the same loss.

# %% [markdown]
# A training loop works with either of them. Here are ten steps with each, from the same start. To
# how many digits will the losses agree?


# %%
def trained(mean_loss, steps=10):
    """The losses of a few training steps."""
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

# %% [markdown] tags=["answer"]
# To nearly all of them: the cell checks twelve.

# %% [markdown]
# The first call compiles a program for examples of this shape. The number of examples is not part
# of the shape. How many programs are there after these calls?

# %%
loss(X[:3], y[:3])
loss(X[0:1], y[0:1])
loss(np.concatenate([X] * 50), np.concatenate([y] * 50))
print(len(loss.programs))

# %% [markdown] tags=["answer"]
# One. It serves any number of examples.

# %% [markdown]
# ## 5. Stage by stage: instructions, lanes, sums of products, groups
#
# `compile` consists of a few passes. Each is a short file in the folder `compiler`. Here we call
# them one after the other, on the loss of part 4.
#
# ### Instructions
#
# `Value` never tests what kind of number its `data` is. So we can call the function with **traced
# numbers**, which compute nothing and only record what is done to them. Then we call `backward()`.
# It runs the usual closures, and their operations are recorded in the same list.

# %%
found = recorded(example_loss, [(2,), ()])
recording, parameters, places = found.recording, found.parameters, found.places
[result], gradients = found.results, found.gradients
steps = recording.instructions
names = {0: "x_0", 1: "x_1", 2: "y", result: "loss"}
names.update({place: p.label for place, p in zip(places, parameters, strict=True)})


def name_of(place):
    """The name of the result of the instruction at this place."""
    step = steps[place]
    return f"{step.number}" if step.op == "constant" else names.get(place, f"t{place}")


def written(place):
    """An instruction as a line of text."""
    step, operands = steps[place], [name_of(i) for i in steps[place].operands]
    is_word = step.op.isidentifier() or len(operands) == 1
    text = f"{step.op}({', '.join(operands)})" if is_word else f" {step.op} ".join(operands)
    return f"{name_of(place)} = {text}"


wanted = [i for i in needed(steps, [result, *gradients]) if steps[i].operands]
forward = [i for i in wanted if i <= result]
backward = [i for i in wanted if i > result]
print(*(written(i) for i in forward[:8]), "...", written(forward[-1]), sep="\n")

# %% [markdown]
# This is the forward pass, as you would write it by hand. Now look at the second half of the list,
# from the hinge to the gradient of one weight and on to a hidden neuron. Where is the chain rule?

# %%
start = next(i for i in backward if steps[i].op == ">")
print(*[written(i) for i in backward if i >= start][:9], sep="\n")

# %% [markdown] tags=["answer"]
# Here it is, although the compiler contains no derivative rule:
#
# - `t97` and `t98` come from the closure of `relu`, `where(a > 0, upstream, 0)`. The upstream
#   gradient is that of the loss, 1.
# - `t99` and `t100` come from the closures of `-` and `*` in $1 - s\,y$, where $s$ is the score. So
#   `t100` is the gradient of the score.
# - `t102` is the contribution to the gradient of `v2`: the output of hidden neuron 2 times `t100`.
#   `t103` is a `+=`, since the penalty has already contributed.
# - `t104` goes on to hidden neuron 2, and `t105` and `t106` are the next ReLU.

# %% [markdown]
# From here on, forward and backward are one program. No later pass distinguishes them.
#
# The list is shorter than everything that was done. Constants are computed immediately, `0 + x` and
# `1 * x` become `x`, and an instruction that is already in the list is not added again. How much of
# what is left do we need?

# %%
print("recorded:", sum(bool(step.operands) for step in steps))
print("needed:  ", len(wanted))

# %% [markdown] tags=["answer"]
# Nearly all: 112 of 123 instructions.

# %% [markdown]
# ### Lanes
#
# Some of these numbers differ from example to example, and some do not. An instruction that depends
# only on parameters and constants is called **uniform**, and it runs once. The result is a mean
# over the lanes, and so are the gradients. A mean can move inwards past a uniform operand $u$:
#
# $$ \operatorname{mean}(u + x) = u + \operatorname{mean}(x), \qquad
#    \operatorname{mean}(u\,x) = u \operatorname{mean}(x) $$
#
# What becomes of the penalty $0.001 \sum p^2$ and its derivatives?

# %%
means = averaged(recording, [result, *gradients])
steps = recording.instructions
in_lane = steps.lanes
wanted = [i for i in needed(steps, [*means, result]) if steps[i].operands]
print(sum(in_lane[i] for i in wanted), "in every lane, such as", written(forward[-1]))
print(sum(not in_lane[i] for i in wanted), "once:")
once = [i for i in wanted if not in_lane[i]]
print(*map(written, [*once[:3], *once[24:28]]), "...", *map(written, once[-4:]), sep="\n")

assert [*loss.instructions] == [*steps]  # the same as in the compiled function

# %% [markdown] tags=["answer"]
# The penalty has left the lanes, and with it more than half of the program. `c * 0.001` is needed
# twice, because `p * p` has two edges to the same node.

# %% [markdown]
# ### Sums of products
#
# The next pass is very simple, but it makes the difference. If the inner nodes of a tree of
# additions are not used elsewhere, the tree becomes **one** instruction with any number of
# operands, a sum of products, or **dot** for short:
#
# $$ \text{dot} = \sum_k \text{left}_k\, \text{right}_k $$
#
# A bias is the weight of an input that is always 1. Which three kinds of dots would you expect in a
# network?

# %%
fusion = fused(steps, [*means, result])
units = fusion.units


def shown(place):
    """A unit as a line of text; place -1 is an input that is 1 in every lane."""
    op, lists, *_ = units[place]
    texts = [" ".join("1" if i == -1 else name_of(i) for i in some) for some in lists]
    return f"{name_of(place)} = {op}({' | '.join(filter(None, texts))})"


print(len(wanted), "instructions,", len(units), "units")
print("\nneurons:", *(shown(i) for i in units if units[i].op == "dot" and in_lane[i]), sep="\n")
[penalty] = [i for i in units if units[i].op == "dot" and len(units[i].operands[0]) > 4]
print("\nthe penalty:", shown(penalty), sep="\n")
means_over_lanes = [i for i in units if units[i].op == "mean"]
print("\ngradients, means over the lanes:", *map(shown, means_over_lanes[:6]), "...", sep="\n")

# %% [markdown] tags=["answer"]
# A neuron is a dot, with its bias as the weight of a 1. The gradient of a weight is a dot over the
# lanes: input times upstream gradient. The third kind is the gradient of a neuron's output: the sum
# of weight times upstream gradient over all neurons that use it. Here only the output neuron uses
# it, and a sum of one product stays a product. In part 6 there will be sixteen.

# %% [markdown]
# ### Groups
#
# Units that do the same thing and do not depend on each other can run at the same time: they form a
# **group**. Some dots belong together even more closely. Write the gradients of the hidden layer as
# a table, with a row for each left list and a column for each right list:

# %%
place_of = {units[i].operands: i for i in means_over_lanes}
inputs, neurons = [(0,), (1,), (-1,)], [i for i in units if units[i].op == "where >"][1:]
print("        ", *(f"{name_of(i):>6}" for i in neurons))
for left in inputs:
    row = [place_of[left, (i,)] for i in neurons]
    print(f"{'1' if left == (-1,) else name_of(left[0]):8}", *(f"{name_of(i):>6}" for i in row))

# %% [markdown]
# Every left list is paired with every right list, and no cell is empty. A full grid of dots, with
# result $(r, l)$ from right list $r$ and left list $l$, is a **matrix product**. So the compiler
# looks for full grids, with a dictionary of the lists. It knows nothing about layers.
#
# In part 2, matrix formulas came apart into sums of products. Here they are put together again. How
# many matrix products will the compiler find in the loss, forward and backward?

# %%
order = order_of_use(fusion, places)  # so that the rows of a matrix are next to each other
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

# %% [markdown] tags=["answer"]
# The first matrix product is the hidden layer with its biases. The output has only one neuron, so
# it is a sum of 4 products, in lanes. The last two matrix products are gradients, and one of them
# is our table.

# %% [markdown]
# Here is the program as a picture, from the inputs at the top to the gradients at the bottom.

# %%
draw_dot(loss, rankdir="TB")

# %% [markdown]
# ### The run
#
# A program has two memories: a vector for uniform numbers, and a matrix for numbers in lanes, with
# a row for each number and a column for each example. The results of a group are stored next to
# each other. So the next group usually finds its operands in order and can use a view instead of a
# copy. To run the program, fill in the parameters and the inputs, then run one group after the
# other. NumPy needs one or a few calls for each group:

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
# Now the memory of the lanes is full, and we can look at it: sixteen examples side by side, with
# the forward and then the backward pass from top to bottom. Blue is negative, red is positive,
# white is 0. Which rows are white in some lanes, and how are these rows related?

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

# %% [markdown] tags=["answer"]
# Where the output of a ReLU is 0, no gradient flows back: a cell that is white in `relu of 3` is
# also white in `where > of 3`.

# %% [markdown]
# ### The program as text
#
# The compiler can also write a program as Python text. A variable holds one number, or a row with a
# number for each lane. What was a sum over the lanes is a `mean`.

# %%
print(loss.scalar_source)

namespace = {}
exec(loss.scalar_source, namespace)
value, gradient = namespace["program"]([p.data for p in parameters], [*X.T, y])
assert np.allclose(gradient, expected, rtol=1e-12, atol=1e-12)

# %% [markdown]
# And this is the same program after all passes, with a line for each group: the neurons of the
# layer have become one matrix product `@`.

# %%
print(loss.source)

exec(loss.source, namespace)
value, gradient = namespace["example_loss"](np.array([p.data for p in parameters]), X, y)
assert np.allclose(gradient, expected, rtol=1e-12, atol=1e-12)

# %% [markdown]
# ## 6. Where the speed comes from
#
# The compiled program does no less arithmetic than the graph. Take a larger network, 2-16-16-1, and
# a hundred points. How many nodes will the graph have, and how many groups will the program have?

# %%
random.seed(0)
large = MLP(2, [16, 16, 1])


def large_loss(x, y):
    """The hinge loss at one point, with a penalty."""
    return hinge(large(x), y) + 1e-4 * sum(p * p for p in large.parameters())


points, labels = moons(100, seed=0)
X, y = np.array(points), 2.0 * np.array(labels) - 1.0

nodes = number_of_nodes(*(large_loss(*pair) for pair in zip(X.tolist(), y.tolist(), strict=True)))
program = micrograd.compile(large_loss)
program(X, y)
found = recorded(large_loss, [(2,), ()])
means = averaged(found.recording, [found.results[0], *found.gradients])
steps = found.recording.instructions
fusion = fused(steps, means)
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
ax.set(xscale="log", xlim=(1, 1e6), xlabel="objects that Python handles in a step")
figure.tight_layout()

# %% [markdown] tags=["answer"]
# 132,637 nodes and 23 groups.

# %% [markdown]
# The first reason is the overhead of Python. In each step the engine creates every node, visits it
# for the topological order, and calls its closure. Each of these takes hundreds of times as long as
# the multiplication itself. The program handles only its groups. For each group, a loop in machine
# code runs over the lanes. A batch that is ten times as large has ten times as many nodes, but the
# other three numbers stay the same.
#
# The second reason: most of the arithmetic is in matrix products, which processors do best.
#
# The third reason is memory. A node consists of several Python objects, over 300 bytes in all,
# scattered over memory. A program has two blocks of memory, which it overwrites in each step.
#
# How much of the arithmetic is in matrix products? And which of these products is the third kind of
# dots: the gradients of the first hidden layer, from the second?


# %%
def operations_of(group, n):
    """The number of multiplications, additions, ... that a group does for n examples."""
    along = n if group.result.lanes or group.op == "mean" else 1
    if group.op in ("dot", "mean"):
        return group.result.slots.size * 2 * group.operands[0].slots.shape[-1] * along
    each = 2 if group.op in ("add product", "subtract product") else 1
    return group.result.slots.size * each * along


total = sum(operations_of(group, 100) for group in schedule.groups)
grids = [group for group in schedule.groups if "matrix product" in repr(group)]
inside = sum(operations_of(group, 100) for group in grids)
print(*grids, sep="\n")
print(f"{total} operations, {inside / total:.0%} of them in these {len(grids)} groups")

uniform, rows = schedule.sizes
print(f"graph:   over {nodes * 300 / 1e6:.0f} MB, created and freed in each step")
print(f"program: {8 * (uniform + rows * 100) / 1e6:.2f} MB, created once")

# %% [markdown] tags=["answer"]
# The gradients of the first hidden layer are the 16 x 16 product. It has no bias, since the input 1
# of a bias needs no gradient. By hand you would write it as $W^{\top}$ times the upstream
# gradients.

# %% [markdown]
# A program of this size fits into the cache of a core. A batch that does not fit is
# processed in tiles, a few lanes at a time.
#
# ### The table
#
# Times depend on the machine, so there are none in this notebook. On your machine,
#
#     python demos/speed/benchmark.py --only peers
#
# prints a table of times: for the engine, each executor of the compiler, NumPy code written by
# hand, and PyTorch, JAX and CasADi if they are installed.

# %% [markdown]
# ## 7. Several devices
#
# Lanes do not depend on each other: until the means, no number moves from one lane to another. So
# **lanes are what is distributed**. Give every device all parameters and a share of the examples,
# and let all of them run the same program. Here the four "devices" take turns.

# %%
shares = [(X[i : i + 25], y[i : i + 25]) for i in range(0, 100, 25)]


def loss_and_gradients(X, y):
    """The mean loss over these examples, followed by its gradients."""
    large.zero_grad()
    batch = program(X, y)
    batch.backward()
    return np.array([batch.data, *(p.grad for p in large.parameters())])


together = np.mean([loss_and_gradients(*share) for share in shares], axis=0)
assert np.allclose(together, loss_and_gradients(X, y), rtol=1e-12, atol=1e-12)

# %% [markdown]
# As in part 3, the mean of their means is the mean over all examples, for the loss and for each
# gradient. How many numbers does a device have to send in each step? And how many if it has a
# million examples?

# %%
print(len(together))

# %% [markdown] tags=["answer"]
# It sends the loss and 337 gradients, and never an example or a hidden value.

# %% [markdown]
# After `pip install jax`, `micrograd.compile(example_loss, executor="jax")` does this with all
# devices that JAX finds: a processor, the accelerators of a machine, or those of a cluster. The
# groups of part 5 become one function, written with `jax.numpy`, and the compiler behind JAX turns
# it into machine code. It is still our program: JAX is not asked for a single derivative.
#
# If the number of examples is not a multiple of the number of devices, a few lanes are added. They
# hold copies of the last example and do not count in the means.
#
# To try several devices on a single processor, start Python with
# `XLA_FLAGS=--xla_force_host_platform_device_count=8`.

# %% [markdown]
# ## 8. What cannot be compiled
#
# The function is called with traced numbers, which only record. Such a number cannot say whether it
# is positive, because the answer may differ from lane to lane.


# %%
def refusal(function, *arguments):
    """Prints the compiler's error without the file name, which is different on each machine."""
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
# A choice that depends on data has to be an operation, which computes both sides and then chooses
# in each lane: `where(condition, a, b)`, `maximum`, `minimum` or `relu`. What will the gradient of
# `slope` be for these two points?


# %%
@micrograd.compile
def kinked(x):
    """The same line, compiled."""
    return where(x > 0, slope * x, 0.1 * slope * x)


@micrograd.compile
def as_maximum(x):
    """The same line, as long as the slope is positive."""
    return (slope * x).maximum(0.1 * slope * x)


for function in (kinked, as_maximum):
    slope.grad = 0
    batch = function([1.0, -2.0])
    batch.backward()
    print(batch.lanes, round(slope.grad, 6))

# %% [markdown] tags=["answer"]
# 0.4: at 1 the derivative with respect to the slope is 1, at $-2$ it is $-0.2$, and their mean is
# 0.4.

# %% [markdown]
# The same is true of `max()`, sorting, `float()`, the functions of `math`, and a traced number as
# an index. Each of these errors names a fix.

# %%
table = [Value(1.0), Value(2.0), Value(3.0), Value(4.0)]
refusal(lambda token: table[token] ** 2, [0, 2])

# %% [markdown]
# `take(table, index)` looks up an entry in each lane. Backward, each entry receives the gradients
# from the lanes that took it. Which entries get a gradient of 0 here?


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

# %% [markdown] tags=["answer"]
# The last one, which no lane takes.

# %% [markdown]
# `if` is fine for anything that is known when the function is recorded: the length of a list, the
# depth of a network, a setting. The result of such a test is fixed in the program, and so is every
# plain number from outside. What will the second line print, and the third?

# %%
factor = 1.0
scaled = micrograd.compile(lambda x: factor * slope * x)
print(scaled([1.0, 2.0]).lanes)
slope.data = 3.0
print(scaled([1.0, 2.0]).lanes)
factor = 10.0
print(scaled([1.0, 2.0]).lanes)

# %% [markdown] tags=["answer"]
# 3 and 6, because the slope is now 3. Then 30 and 60: the compiler notices that `factor` changed.

# %% [markdown]
# Values from outside are parameters: each call reads their data. The plain number `factor` is a
# constant of the program. But each call first checks whether anything that the function reads has
# changed since it was recorded. After a change, it records the function again.
#
# There is one difference from the engine. For the logarithm of a negative number, for example, the
# engine raises an error. A compiled program goes on with the result of IEEE arithmetic, NaN, in
# that lane only.

# %% [markdown]
# ## 9. Everything together
#
# We train a network of 337 parameters on two hundred points, for 75 epochs of four mini-batches
# each. The loss is the scalar function from above. The picture needs the output of the model at
# thousands of points on a grid, so the model is compiled, too, and called with all of them at once.

# %%
points, labels = moons(200, noise=0.15, seed=0)
X, y = np.array(points), 2.0 * np.array(labels) - 1.0

random.seed(0)
large = MLP(2, [16, 16, 1])
loss = micrograd.compile(large_loss)
optimizer = SGD(large.parameters(), lr=0.3)
losses = []
for epoch in range(75):
    for X_part, y_part in batches(X, y, size=50, seed=epoch):
        batch = loss(X_part, y_part)
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
# 2. Remove the penalty from `example_loss`. How many instructions disappear, and how many groups?
#    Why does this hardly change the time of a step?
# 3. Share a weight between two neurons of a layer (`model.layers[0].neurons[1].w[0] = ...`). Does
#    the compiler still find the matrix product? Look at the table of part 5 to see why.
# 4. Write a function with `where(x > 0, x.log(), 0)` for a Value `x`, and call it with -1 and 0,
#    eagerly and compiled. What do you get, what does the gradient say, and which order of `where`
#    and `log` is safe?
# 5. A recurrent network applies one neuron ten times in a row. Draw its compiled program
#    (`draw_dot(loss)`). What can be done at the same time, and what cannot?
# 6. Write your own operation, as in the lecture, with a closure that uses only arithmetic. Compile
#    a function that uses it. Where did the compiler get its derivative from?

# %% [markdown] tags=["answer"]
# 1. The softmax: the largest logit, a difference from it, the exponentials, their sum, a quotient,
#    and `take` for the logit of the label. By hand you would write the same, and $p_k - [k =
#    \text{label}]$ for the gradient. There is one more matrix product, because there are three
#    outputs instead of one.
# 2. 80 of 151 instructions, and 5 of 19 groups. They run once for each step, not once for each
#    example, so they cost next to nothing.
# 3. Only in part: with the same number in two lists, the grid of dots is no longer full. The matrix
#    product is a smaller one (2 x 2), and the rest is computed beside it.
# 4. Eagerly, both are errors: `log` fails before `where` can choose. Compiled, the results are 0,
#    but the gradient is NaN, because both sides are computed. Choose first, then take the logarithm
#    of something positive: `where(x > 0, x, 1).log()`.
# 5. The ten calls run one after the other, since each needs the result of the one before. Examples
#    do not depend on each other, so each call runs for all of them at once, in lanes.
# 6. From your closure: the compiler calls it with traced numbers, and records its arithmetic.
