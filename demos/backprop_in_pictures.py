# %% [markdown]
# # Backpropagation in pictures
#
# The same graph seen from several sides. Everything here is read off one kind of number, the
# local derivatives on the arrows; what differs is in which order they are multiplied and added.
#
# | part | minutes |
# |---|---|
# | 1. Numbers on arrows | 5 |
# | 2. Forward mode: how fast does every node move? | 10 |
# | 3. Reverse mode: what does every node do to the result? | 10 |
# | 4. Several outputs: the Jacobian, its columns and its rows | 10 |
# | 5. The sum over all paths, and what it would cost | 10 |
# | 6. Levels and orders | 5 |
# | 7. Three views of a network | 5 |
#
# It goes well after `lecture.ipynb`. Where a cell ends in a question, answer it before you run
# the next cells: what they show is not saved here.

# %%
import random

import numpy as np

from micrograd import (
    Value,
    draw_dot,
    draw_network,
    jacobian,
    jvp,
    local_derivatives,
    sum_over_paths,
    topological_order,
    vjp,
)
from micrograd.derivatives import count_passes
from micrograd.graph import levels, topological_orders
from micrograd.nn import MLP
from micrograd.trace import trace

# %% [markdown]
# ## 1. Numbers on arrows
#
# Our function, and its steps with one operation each:
#
# $$ f(x, y) = 3 x^2 + x y + 5 y^2 $$
#
# $$ a = x^2, \quad b = x y, \quad c = y^2, \quad d = 3 a, \quad e = 5 c, \quad
#    s = d + b, \quad f = s + e $$
#
# On each arrow stands a local derivative: that of the node at its head by the node at its tail.
# Which two numbers stand on the arrows into $b = x y$ at $x = 2$, $y = 3$?

# %%
x, y = Value(2.0), Value(3.0)
a, b, c = x**2, x * y, y**2
d, e = 3 * a, 5 * c
s = d + b
f = s + e
nodes = {"x": x, "y": y, "a": a, "b": b, "c": c, "d": d, "e": e, "s": s, "f": f}
draw_dot(f, names=nodes, edges="derivatives")

# %% [markdown]
# ## 2. Forward mode: how fast does every node move?
#
# Let $x$ move with speed 1 while $y$ rests. The speed of a node is called its tangent, and
# written with a dot:
#
# $$ \dot v = \sum_{\text{operands } u} \frac{\partial v}{\partial u}\, \dot u $$
#
# Operands come first, so we walk along the arrows, from left to right. What is $\dot f$ in the
# end?

# %%
tangent = {x: 1.0, y: 0.0}
for node in topological_order(f):
    if node._prev:
        pairs = zip(local_derivatives(node), node._prev, strict=True)
        tangent[node] = sum(local * tangent.get(operand, 0.0) for local, operand in pairs)

print({name: tangent[node] for name, node in nodes.items()})

# %% [markdown]
# The end of the walk has $\dot f = \partial f / \partial x = 6x + y = 15$. In the drawing each
# arrow tells *local derivative times tangent of its tail*.

# %%
draw_dot(f, names=nodes, edges="derivatives", tangents={x: 1.0})

# %% [markdown]
# For $\partial f / \partial y$ we have to walk again, now with $\dot y = 1$. A walk for each
# input. `jvp` is such a walk; its second argument says how the leaves move.

# %%
print("df/dx =", jvp(f, {x: 1.0}))
print("df/dy =", jvp(f, {y: 1.0}))

# %% [markdown]
# Both may move at once: then the walk gives the derivative in a direction. How fast does $f$ move
# when $x$ goes up and $y$ goes down equally fast?

# %%
print(jvp(f, {x: 1.0, y: -1.0}))

# %% [markdown]
# ## 3. Reverse mode: what does every node do to the result?
#
# Now the question is turned round. The adjoint of a node, $\bar v = \partial f / \partial v$,
# says how much $f$ moves when this node moves by 1:
#
# $$ \bar u = \sum_{\text{users } v} \bar v\, \frac{\partial v}{\partial u} $$
#
# A node has to wait for all its users, so we walk against the arrows. At the start $\bar f = 1$.
# What is $\bar x$ in the end, and what else do we know then?

# %%
adjoint = {f: 1.0}
for node in reversed(topological_order(f)):
    for local, operand in zip(local_derivatives(node), node._prev, strict=True):
        adjoint[operand] = adjoint.get(operand, 0.0) + adjoint[node] * local

print({name: adjoint[node] for name, node in reversed(nodes.items())})

# %% [markdown]
# One walk has given both derivatives, 15 and 32, and would have given a million of them. This is
# what `backward()` does: the adjoint of a node is its `grad`. Each arrow now tells *local
# derivative times upstream gradient*, and what arrives at the tail is added up there.

# %%
f.backward()
draw_dot(f, names=nodes, edges="derivatives")

# %% [markdown]
# ### Where the two modes meet
#
# Cut the drawing from top to bottom, such that every path from the inputs to $f$ crosses the cut
# at one node. Then
#
# $$ \sum_{v \text{ in the cut}} \bar v\, \dot v = \dot f $$
#
# for every cut: to the left of it forward mode has done the work, to the right of it reverse
# mode. With $\dot x = 1$, which number will all five lines show?

# %%
for cut in ("xy", "abc", "dbe", "se", "f"):
    terms = [adjoint[nodes[name]] * tangent[nodes[name]] for name in cut]
    print(f"{' '.join(cut):6}", " + ".join(f"{term:g}" for term in terms), "=", sum(terms))

# %% [markdown]
# ## 4. Several outputs: the Jacobian, its columns and its rows
#
# With several outputs the derivatives form a matrix, a row for each output and a column for each
# input:
#
# $$ J = \begin{pmatrix}
#    \partial u / \partial x & \partial u / \partial y \\
#    \partial v / \partial x & \partial v / \partial y
#    \end{pmatrix}, \qquad u = x y, \quad v = x - y $$
#
# One forward walk starts from the speeds of all inputs and ends with those of all outputs: it is
# $J \dot x$, a Jacobian-vector product. A reverse walk starts from upstream gradients of all
# outputs and ends with the gradients of all inputs: $\bar u^{\top} J$, a vector-Jacobian product.
#
# Which of the two gives a column of $J$, and which a row?

# %%
outputs = [x * y, x - y]
print("J =", jacobian(outputs, [x, y]))
print("forward walk from x:", jvp(outputs, {x: 1.0}))
gradient_of = vjp(outputs, [1.0, 0.0])
print("reverse walk from u:", [gradient_of[x], gradient_of[y]])

# %% [markdown]
# So a whole Jacobian takes one forward walk for each input, or one reverse walk for each output.
# Which mode would you take for
#
# - the loss of a network by its 41 parameters,
# - the point $(\cos t, \sin t, t)$ of a spiral by the time $t$?

# %%
random.seed(0)
model = MLP(3, [4, 4, 1], activation="tanh")
loss = (model([2.0, 3.0, -1.0]) - 1.0) ** 2
print("The loss by the parameters")
print(count_passes(loss, model.parameters()))

t = Value(0.5)
print("\nThe point by the time")
print(count_passes([t.cos(), t.sin(), t * 1.0], [t]))

# %% [markdown]
# ### The same as matrices
#
# The network is a chain of layers, and so its Jacobian is a product, with shapes $1 \times 4$, $4
# \times 4$ and $4 \times 3$:
#
# $$ J = J_3\, J_2\, J_1 $$
#
# Brackets do not change what a product of matrices is, only what it costs. Reverse mode starts
# from the left, where there is a single row; forward mode from the right. How many
# multiplications does each take?

# %%
inputs = [Value(2.0), Value(3.0), Value(-1.0)]
first = model.layers[0](inputs)
second = model.layers[1](first)
output = model.layers[2](second)

J1, J2, J3 = (
    np.array(jacobian(outs, ins))
    for outs, ins in ((first, inputs), (second, first), (output, second))
)
print("all at once:", np.round(jacobian(output, inputs), 6))
print("(J3 J2) J1: ", np.round((J3 @ J2) @ J1, 6), " ", 1 * 4 * 4 + 1 * 4 * 3, "multiplications")
print("J3 (J2 J1): ", np.round(J3 @ (J2 @ J1), 6), " ", 4 * 4 * 3 + 1 * 4 * 3, "multiplications")

# %% [markdown]
# ## 5. The sum over all paths, and what it would cost
#
# Both modes compute the same sum: over all paths from the input to the result, the product of the
# local derivatives along the path. How many paths lead from $x$ to $f$?

# %%
sum_over_paths(f, x, names=nodes)

# %%
print(sum_over_paths(f, y, names=nodes))

# %% [markdown]
# So why not follow the paths one by one? Look at
#
# $$ z_{k+1} = z_k\,(1 - z_k) $$
#
# With each step there are two ways on, by the factor $z_k$ and by the factor $1 - z_k$. How many
# paths are there after 2 steps, after 10, after 160?


# %%
def logistic(steps):
    """The leaf 0.3, and where it is after some steps of z (1 - z)."""
    leaf = z = Value(0.3, label="z0")
    for k in range(steps):
        z = z * (1 - z)
        z.label = f"z{k + 1}"
    return leaf, z


leaf, z = logistic(2)
print(sum_over_paths(z, leaf, names={"u0": z._prev[0]._prev[1], "u1": z._prev[1]}))
draw_dot(z)

# %% [markdown]
# Backpropagation does not follow paths. It passes each arrow once and multiplies at most once
# there. `trace` writes down all that the two passes compute, so that we can count.


# %%
def multiplications(root):
    """How many there are in the forward and in the backward pass."""
    steps = [step for step in trace(root).instructions if step.op == "*"]
    forward = sum(step.role == "forward" for step in steps)
    return forward, len(steps) - forward


print("steps  nodes        paths  multiplications forward, backward")
for steps in (2, 10, 20, 40, 80, 160):
    leaf, z = logistic(steps)
    forward, backward = multiplications(z)
    paths = sum_over_paths(z, leaf).count
    print(f"{steps:5}  {len(topological_order(z)):5} {paths:12.3g}  {forward:23} {backward:9}")

# %% [markdown]
# Twice the steps: twice the work, but the square of the number of paths. The cost is linear in
# the graph because partial sums are shared: all paths that go through a node use the same $\bar
# v$.
#
# That has a consequence for training. Count all arithmetic, and compare the gradient with one run
# of the function. What happens to the ratio as the network grows?


# %%
def arithmetic(root):
    """How many operations of all kinds there are in the forward and in the backward pass."""
    steps = [step for step in trace(root).instructions if step.op not in ("input", "constant")]
    forward = sum(step.role == "forward" for step in steps)
    return forward, len(steps) - forward


print("parameters  forward  backward  ratio   by differences")
for width in (2, 4, 8, 16):
    model = MLP(3, [width, width, 1], activation="tanh")
    loss = (model([2.0, 3.0, -1.0]) - 1.0) ** 2
    forward, backward = arithmetic(loss)
    n = len(model.parameters())
    print(f"{n:10} {forward:8} {backward:9} {backward / forward:6.2f} {(n + 1) * forward:16}")

# %% [markdown]
# All derivatives together cost a few runs of the function, however many there are. Differences
# need a run for each parameter, and are not even exact.

# %% [markdown]
# ## 6. Levels and orders
#
# The level of a node is 0 for a leaf, else one more than the highest of its operands. Nodes of
# one level do not depend on each other and could be computed at the same time. On which level is
# $b = x y$, and on which is $f$?

# %%
level_of = levels(f)
for level in range(level_of[f] + 1):
    print(level, " ".join(name for name, node in nodes.items() if level_of[node] == level))

# %% [markdown]
# A program does one thing after the other, in some topological order. Does it matter in which?
# Here are all of them, constants left out, and the gradients by `_backward()` along each from its
# end.

# %%
name_of = {node: name for name, node in nodes.items()}
orders = list(topological_orders(f))
found = set()
for order in orders:
    for node in order:
        node.grad = 0.0
    f.grad = 1.0
    for node in reversed(order):
        node._backward()
    found.add((x.grad, y.grad))

print(len(orders), "orders, such as")
for order in (orders[0], orders[-1]):
    print("  ", " ".join(name_of[node] for node in order))
print("gradients:", found)

# %% [markdown]
# ## 7. Three views of a network
#
# A graph of operations tells everything and is soon too large to look at. Here is the loss of a
# network with 3 hidden neurons for one example, after its backward pass. How many nodes will it
# have?

# %%
random.seed(2)
model = MLP(2, [3, 1], activation="tanh")
x = [Value(1.0), Value(-0.5)]
output = model(x)
loss = (output - 1.0) ** 2
loss.backward()
names = {"model": model, "x": x, "output": output, "loss": loss}
print(len(topological_order(loss)), "nodes")
draw_dot(loss, names=names)

# %% [markdown]
# One step back, a card for each neuron. Lines are weights; what is inside is what we saw in the
# lecture, $\tanh(w_1 x_1 + w_2 x_2 + b)$.

# %%
draw_dot(loss, names=names, level="neuron")

# %% [markdown]
# Another step back, a card for each layer. Here arrows are vectors, and what reverse mode does at
# each of them is a vector-Jacobian product.

# %%
draw_dot(loss, names=names, level="layer")

# %% [markdown]
# And the drawing of the textbooks, circles in columns, which leaves out the loss and the
# operations. Colour is the sign, width and shade the size.

# %%
draw_network(model, x)

# %% [markdown]
# ## Questions to take home
#
# 1. In part 3, cut the drawing at $\{a, b, e\}$. Is that a cut as required? What is the sum?
# 2. A function has 3 inputs and 5 outputs. Which mode is cheaper, and does the answer depend on the
#    graph?
# 3. Build a graph of ten nodes with as many paths as possible from its leaf to its root, and one
#    with as few as possible. What does `count_passes` say of them?
# 4. Why does reverse mode need the numbers of the forward pass, and forward mode not keep any?
# 5. How would you get $\bar u^{\top} J\, \dot x$ for two given vectors, without ever computing $J$?
