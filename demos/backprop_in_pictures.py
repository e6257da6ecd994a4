# %% [markdown]
# # Backpropagation in pictures
#
# This notebook looks at the same graph in several ways. All results come from the local derivatives
# beside the arrows. What differs is the order in which these are multiplied and added.
#
# | part | minutes |
# |---|---|
# | 1. Numbers beside arrows | 5 |
# | 2. Forward mode: how fast does each node change? | 10 |
# | 3. Reverse mode: how does each node affect the result? | 10 |
# | 4. Several outputs: the Jacobian, its columns and its rows | 10 |
# | 5. The sum over all paths, and its cost | 10 |
# | 6. Levels and orders | 5 |
# | 7. Three views of a network | 5 |
#
# Read it after `lecture.ipynb`. Where a text ends in a question, answer it before you run the next
# cells. Their output is not saved here; the answers are in `solutions.md`.

# %%
import math
import random

import numpy as np

from micrograd import (
    Value,
    draw_dot,
    draw_network,
    jacobian,
    jvp,
    local_derivatives,
    recompute,
    topological_order,
    vjp,
)
from micrograd.core.tracing import Recording
from micrograd.nn import MLP

# %% [markdown]
# ## 1. Numbers beside arrows
#
# Here is our function, and its steps with one operation each:
#
# $$ f(x, y) = 3 x^2 + x y + 5 y^2 $$
#
# $$ a = x^2, \quad b = x y, \quad c = y^2, \quad d = 3 a, \quad e = 5 c, \quad
#    s = d + b, \quad f = s + e $$
#
# The number beside the head of each arrow is a local derivative: the derivative of the node at its
# head with respect to the node at its tail. Which two numbers are beside the arrows into $b = x y$
# at $x = 2$, $y = 3$?

# %%
x, y = Value(2.0), Value(3.0)
a, b, c = x**2, x * y, y**2
d, e = 3 * a, 5 * c
s = d + b
f = s + e
nodes = {"x": x, "y": y, "a": a, "b": b, "c": c, "d": d, "e": e, "s": s, "f": f}
draw_dot(f, names=nodes, edges="derivatives")

# %% [markdown] tags=["answer"]
# $y = 3$ beside the arrow from $x$, and $x = 2$ beside the arrow from $y$.

# %% [markdown]
# ## 2. Forward mode: how fast does each node change?
#
# Let $x$ move with speed 1 while $y$ stays fixed. The speed of a node is called its tangent, and is
# written with a dot:
#
# $$ \dot v = \sum_{\text{operands } u} \frac{\partial v}{\partial u}\, \dot u $$
#
# Operands come first, so we walk along the arrows, from left to right. What is $\dot f$ at the end?

# %%
tangent = {x: 1.0, y: 0.0}
for node in topological_order(f):
    if node._prev:
        pairs = zip(local_derivatives(node), node._prev, strict=True)
        tangent[node] = sum(local * tangent.get(operand, 0.0) for local, operand in pairs)

print({name: tangent[node] for name, node in nodes.items()})

# %% [markdown] tags=["answer"]
# At the end of the walk, $\dot f = \partial f / \partial x = 6x + y = 15$.

# %% [markdown]
# Each arrow in the drawing shows *local derivative times tangent of its tail*.

# %%
draw_dot(f, names=nodes, edges="derivatives", tangents={x: 1.0})

# %% [markdown]
# For $\partial f / \partial y$ we have to walk again, now with $\dot y = 1$. So forward mode takes
# one walk for each input. `jvp` is such a walk. Its second argument gives the tangents of the
# leaves.

# %%
print("df/dx =", jvp(f, {x: 1.0}))
print("df/dy =", jvp(f, {y: 1.0}))

# %% [markdown]
# Both may move at once. Then the walk gives the derivative in a direction. How fast does $f$ change
# when $x$ rises and $y$ falls equally fast?

# %%
print(jvp(f, {x: 1.0, y: -1.0}))

# %% [markdown] tags=["answer"]
# $15 - 32 = -17$: the two derivatives, weighted with the speeds 1 and $-1$.

# %% [markdown]
# ## 3. Reverse mode: how does each node affect the result?
#
# Now go the other way. The adjoint of a node, $\bar v = \partial f / \partial v$, says how fast
# $f$ changes when this node moves with speed 1:
#
# $$ \bar u = \sum_{\text{users } v} \bar v\, \frac{\partial v}{\partial u} $$
#
# A node has to wait for all its users, so we walk against the arrows. At the start $\bar f = 1$.
# What is $\bar x$ at the end, and what else do we know then?

# %%
adjoint = {f: 1.0}
for node in reversed(topological_order(f)):
    for local, operand in zip(local_derivatives(node), node._prev, strict=True):
        adjoint[operand] = adjoint.get(operand, 0.0) + adjoint[node] * local

print({name: adjoint[node] for name, node in reversed(nodes.items())})

# %% [markdown] tags=["answer"]
# One walk gives both derivatives, 15 and 32.

# %% [markdown]
# With a million inputs, one walk would give a million derivatives. This is what `backward()` does:
# the adjoint of a node is its `grad`. Each arrow now shows *local derivative times upstream
# gradient*, and the contributions to its tail are added up.

# %%
f.backward()
draw_dot(f, names=nodes, edges="derivatives")

# %% [markdown]
# ### Where the two modes meet
#
# Cut the drawing from top to bottom so that every path from the inputs to $f$ passes through
# exactly one node of the cut. Then
#
# $$ \sum_{v \text{ in the cut}} \bar v\, \dot v = \dot f $$
#
# for every cut: forward mode does the work to the left of it, and reverse mode to the right. With
# $\dot x = 1$, which number will all five lines show?

# %%
for cut in ("xy", "abc", "dbe", "se", "f"):
    terms = [adjoint[nodes[name]] * tangent[nodes[name]] for name in cut]
    print(f"{' '.join(cut):6}", " + ".join(f"{term:g}" for term in terms), "=", sum(terms))

# %% [markdown] tags=["answer"]
# 15, which is $\dot f$.

# %% [markdown]
# ## 4. Several outputs: the Jacobian, its columns and its rows
#
# With several outputs the derivatives form a matrix, with a row for each output and a column for
# each input:
#
# $$ J = \begin{pmatrix}
#    \partial u / \partial x & \partial u / \partial y \\
#    \partial v / \partial x & \partial v / \partial y
#    \end{pmatrix}, \qquad u = x y, \quad v = x - y $$
#
# A forward walk starts from the tangents of all inputs and ends with those of all outputs. It
# computes $J \dot x$, a Jacobian-vector product. A reverse walk starts from the upstream gradients
# of all outputs and ends with the gradients of all inputs. It computes $\bar u^{\top} J$, a
# vector-Jacobian product.
#
# Which of the two gives a column of $J$, and which a row?

# %%
outputs = [x * y, x - y]
print("J =", jacobian(outputs, [x, y]))
print("forward walk from x:", jvp(outputs, {x: 1.0}))
gradient_of = vjp(outputs, [1.0, 0.0])
print("reverse walk from u:", [gradient_of[x], gradient_of[y]])

# %% [markdown] tags=["answer"]
# The forward walk from $x$ gives the first column, the derivatives of all outputs with respect to
# $x$. The reverse walk from $u$ gives the first row, the derivatives of $u$.

# %% [markdown]
# So a whole Jacobian takes one forward walk for each input, or one reverse walk for each output.
# Which mode would you choose for
#
# - the derivatives of a loss with respect to the 41 parameters of a network,
# - the derivatives of a point $(\cos t, \sin t, t)$ on a spiral with respect to the time $t$?

# %%
random.seed(0)
model = MLP(3, [4, 4, 1], activation="tanh")
loss = (model([2.0, 3.0, -1.0]) - 1.0) ** 2
t = Value(0.5)
spiral = [t.cos(), t.sin(), t * 1.0]
for outputs, inputs in ([loss], model.parameters()), (spiral, [t]):
    edges = sum(len(v._prev) for v in topological_order(*outputs))
    print(f"forward mode: {len(inputs)} walks, {len(inputs) * edges} multiplications")
    print(f"reverse mode: {len(outputs)} walks, {len(outputs) * edges} multiplications")

# %% [markdown] tags=["answer"]
# - Reverse mode for the loss: 1 walk instead of 41.
# - Forward mode for the spiral: 1 walk instead of 3.

# %% [markdown]
# ### The same with matrices
#
# The network is a chain of layers, so its Jacobian is a product of three matrices, with shapes
# $1 \times 4$, $4 \times 4$ and $4 \times 3$:
#
# $$ J = J_3\, J_2\, J_1 $$
#
# Brackets do not change the product of matrices, only its cost. Reverse mode starts from the left,
# where there is a single row, and forward mode from the right. How many multiplications does each
# take?

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

# %% [markdown] tags=["answer"]
# From the left $1 \cdot 4 \cdot 4 + 1 \cdot 4 \cdot 3 = 28$, from the right
# $4 \cdot 4 \cdot 3 + 1 \cdot 4 \cdot 3 = 60$.

# %% [markdown]
# ## 5. The sum over all paths, and its cost
#
# Multiply the local derivatives along a path from the input to the result, and add up these
# products over all paths: both modes compute this sum. How many paths lead from $x$ to $f$?


# %%
def paths(result, leaf):
    """The paths from a leaf to a result: the labels of their nodes, and the local derivatives."""
    if result is leaf:
        yield [leaf.label], []
    for operand, d in zip(result._prev, local_derivatives(result), strict=True):
        for labels, factors in paths(operand, leaf):
            yield [*labels, result.label], [*factors, d]


def show_paths(result, leaf):
    """Prints the product along each path."""
    for labels, factors in paths(result, leaf):
        product = " * ".join(f"{d:g}" for d in factors)
        print(f"{' -> '.join(labels)}:  {product} = {math.prod(factors):g}")


for label, node in nodes.items():
    node.label = label
show_paths(f, x)

# %%
show_paths(f, y)

# %% [markdown] tags=["answer"]
# Two: through $a$, $d$, $s$ and through $b$, $s$.

# %% [markdown]
# So why not follow the paths one by one? Look at
#
# $$ z_{k+1} = z_k\,(1 - z_k) $$
#
# In each step a path can go through the factor $z_k$ or through the factor $1 - z_k$. How many
# paths are there after 2 steps, after 10, after 160?


# %%
def logistic(steps):
    """The leaf z0 = 0.3, and the result after this many steps of z (1 - z)."""
    leaf = z = Value(0.3, label="z0")
    for k in range(steps):
        z = z * (1 - z)
        z.label = f"z{k + 1}"
    return leaf, z


leaf, z = logistic(2)
for k, node in enumerate((z._prev[0]._prev[1], z._prev[1])):
    node.label = f"u{k}"
show_paths(z, leaf)
draw_dot(z)

# %% [markdown] tags=["answer"]
# Each step doubles their number: 4, 1,024, and after 160 steps $2^{160}$, about
# $1.5 \cdot 10^{48}$.

# %% [markdown]
# Backpropagation does not follow paths. It visits each arrow once and multiplies at most once
# there. If the leaves hold traced numbers, which record what is done to them, we can count
# everything that the two passes compute.


# %%
def operations(root):
    """The names of all operations in the forward and in the backward pass."""
    recording = Recording()
    leaves = [v for v in topological_order(root) if v.is_leaf]
    for leaf in leaves:
        leaf.data = recording.input(leaf.data)
    recompute(root)
    end_of_forward = len(recording.instructions)
    root.backward()
    both = recording.instructions[:end_of_forward], recording.instructions[end_of_forward:]
    return [[step.op for step in steps if step.operands] for steps in both]


def multiplications(root):
    """The number of multiplications in the forward and in the backward pass."""
    forward, backward = operations(root)
    return forward.count("*"), backward.count("*")


print("steps  nodes        paths  multiplications forward, backward")
for steps in (2, 10, 20, 40, 80, 160):
    leaf, z = logistic(steps)
    forward, backward = multiplications(z)
    print(f"{steps:5}  {len(topological_order(z)):5} {2.0**steps:12.3g}  {forward:23} {backward:9}")

# %% [markdown]
# Twice the steps mean twice the work, but the number of paths is squared. The cost is linear in the
# size of the graph because partial sums are shared: all paths through a node use the same
# $\bar v$.
#
# This matters for training. Count all operations, and compare the gradient with one run of the
# function. What happens to the ratio as the network grows?


# %%
def arithmetic(root):
    """The number of all operations in the forward and in the backward pass."""
    forward, backward = operations(root)
    return len(forward), len(backward)


print("parameters  forward  backward  ratio   by differences")
for width in (2, 4, 8, 16):
    model = MLP(3, [width, width, 1], activation="tanh")
    loss = (model([2.0, 3.0, -1.0]) - 1.0) ** 2
    forward, backward = arithmetic(loss)
    n = len(model.parameters())
    print(f"{n:10} {forward:8} {backward:9} {backward / forward:6.2f} {(n + 1) * forward:16}")

# %% [markdown] tags=["answer"]
# The ratio stays at about 1.5. All derivatives together cost as much as one or two runs of the
# function, no matter how many there are. Difference quotients need a run for each parameter, and
# they are not exact.

# %% [markdown]
# ## 6. Levels and orders
#
# The level of a leaf is 0. The level of any other node is one more than the highest level of its
# operands. Nodes on the same level do not depend on each other and could be computed at the same
# time. On which level is $b = x y$, and on which is $f$?

# %%
level_of = {}
for node in topological_order(f):
    level_of[node] = 1 + max((level_of[operand] for operand in node._prev), default=-1)
for level in range(level_of[f] + 1):
    print(level, " ".join(name for name, node in nodes.items() if level_of[node] == level))

# %% [markdown] tags=["answer"]
# $b$ is on level 1, and $f$ on level 4.

# %% [markdown]
# A program does one step after the other, in some topological order. Does it matter in which? The
# next cell finds all of these orders (constants left out) and runs `_backward()` along each of
# them, from its end.


# %%
def topological_orders(nodes, begun=()):
    """All orders of the nodes in which operands come first, after those with which it is begun."""
    if len(begun) == len(nodes):
        yield begun
    for node in nodes:
        if node not in begun and all(v in begun or v.is_constant for v in node._prev):
            yield from topological_orders(nodes, (*begun, node))


name_of = {node: name for name, node in nodes.items()}
orders = list(topological_orders(list(name_of)))
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
# A graph of operations shows everything, but it soon becomes too large to read. Take the loss of a
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

# %% [markdown] tags=["answer"]
# 39.

# %% [markdown]
# One level up, there is a card for each neuron. The lines are weights, and each card stands for the
# neuron of the lecture, $\tanh(w_1 x_1 + w_2 x_2 + b)$.

# %%
draw_dot(loss, names=names, level="neuron")

# %% [markdown]
# Another level up, there is a card for each layer. Here the arrows are vectors, and each step of
# reverse mode is a vector-Jacobian product.

# %%
draw_dot(loss, names=names, level="layer")

# %% [markdown]
# The last drawing is the one in textbooks: circles in columns, without the loss and the operations.
# Colour shows the sign, width and shade show the size.

# %%
draw_network(model, x)

# %% [markdown]
# ## Questions to take home
#
# 1. In part 3, cut the drawing at $\{a, b, e\}$. Does this cut satisfy the condition? What is the
#    sum?
# 2. A function has 3 inputs and 5 outputs. Which mode is cheaper, and does the answer depend on the
#    graph?
# 3. Build a graph of ten nodes with as many paths as possible from its leaf to its root, and one
#    with as few as possible. How many walks does a gradient take on each?
# 4. Why does reverse mode have to keep the numbers of the forward pass, while forward mode does
#    not?
# 5. How would you get $\bar u^{\top} J\, \dot x$ for two given vectors without computing $J$?

# %% [markdown] tags=["answer"]
# 1. Yes: each path from an input passes through exactly one of $a$, $b$ and $e$. With $\dot x = 1$
#    the sum is $12 + 3 + 0 = 15$.
# 2. Forward mode takes 3 walks and reverse mode 5, so forward mode is usually cheaper. It does
#    depend on the graph: a walk costs as much as the edges that it visits.
# 3. As many as possible: add a node to itself nine times, which gives $2^9 = 512$ paths. As few as
# possible: a chain of nine functions of one number, with a single path. A gradient takes one
# walk for both, because neither mode follows paths.
# 4. Its local derivatives are needed in the reverse order of their computation, when the forward
#    pass is over. Forward mode uses each as soon as it is known.
# 5. One forward walk gives $J \dot x$, `jvp(outputs, tangents)`; then take its product with $\bar
#    u$.
