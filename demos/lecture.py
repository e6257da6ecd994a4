# %% [markdown]
# # Backpropagation, spelled out
#
# A companion to Andrej Karpathy's lecture [The spelled-out intro to neural networks and
# backpropagation: building micrograd](https://www.youtube.com/watch?v=VMj-3S1tku0) (2022), in
# other words and with the engine of this package. It also answers what the lecture leaves open:
# why a topological order, what a second `backward()` does, and why `a - b` is an operation of its
# own.
#
# | part | minutes |
# |---|---|
# | 1. The derivative of one input, and of several | 10 |
# | 2. `Value`: numbers that remember | 10 |
# | 3. Backpropagation by hand | 15 |
# | 4. Backpropagation by itself, and in which order | 15 |
# | 5. Gradients add up | 10 |
# | 6. Operations, large and small | 10 |
# | 7. A network that learns four points | 10 |
#
# Cells often end in a question. Write down your answer, then run the next cells: what they show is
# not saved here.

# %%
import math
import random
import textwrap

import matplotlib.pyplot as plt

from micrograd import (
    Value,
    check_gradients,
    derivative,
    draw_dot,
    explain,
    gradient,
    sum_over_paths,
    topological_order,
)
from micrograd.derivatives import GradientError
from micrograd.nn import MLP

# %% [markdown]
# ## 1. The derivative of one input, and of several
#
# The derivative says how fast the result of a function moves when its input moves:
#
# $$ f'(x) = \lim_{h \to 0} \frac{f(x + h) - f(x)}{h} $$
#
# Here is a parabola. At which $x$ does it rise, at which does it fall, and where is it flat?


# %%
def parabola(x):
    """3 x^2 - 4 x + 5."""
    return 3 * x**2 - 4 * x + 5


xs = [i / 20 for i in range(-60, 101)]
figure, ax = plt.subplots(figsize=(4.5, 2.8), dpi=80)
ax.plot(xs, [parabola(x) for x in xs], color="black")
for x, place in ((-2, (8, 0)), (2 / 3, (-18, -15)), (3, (10, -8))):
    slope = derivative(parabola, x)
    ends = [x - 0.9, x + 0.9]
    ax.plot(ends, [parabola(x) + slope * (end - x) for end in ends], linewidth=3)
    ax.annotate(f"slope {slope:.0f}", (x, parabola(x)), place, textcoords="offset points")
ax.set(xlabel="x", ylabel="parabola(x)", ylim=(-10, 62))
figure.tight_layout()

# %% [markdown]
# With pencil and paper $f'(x) = 6 x - 4$, so $f'(3) = 14$. A computer that knows nothing of
# calculus can take a small $h$ instead of the limit.
#
# Will the quotient come closer and closer to 14 as $h$ shrinks from 1 to $10^{-15}$?

# %%
print("       h   quotient      error")
for exponent in range(0, 16, 3):
    h = 10.0**-exponent
    quotient = (parabola(3.0 + h) - parabola(3.0)) / h
    print(f"  1e-{exponent:02} {quotient:10.6f} {quotient - 14:10.1e}")

# %% [markdown]
# At first it does: the error is $3 h$. Then rounding takes over, because $f(x + h)$ and $f(x)$
# agree in nearly all of their 16 digits and only the last ones are left in the difference.
#
# Backpropagation has no $h$. It applies the rules of calculus to each operation, and is exact up
# to rounding.

# %%
print(derivative(parabola, 3.0))

# %% [markdown]
# A function of several inputs has a derivative by each of them: move one, hold the others.
#
# $$ d = a\,b + c, \qquad a = 2,\quad b = -3,\quad c = 10 $$
#
# When $a$ grows a little, does $d$ grow or shrink, and how many times as fast? And for $b$, and
# $c$?


# %%
def d_of(a, b, c):
    """The product of two inputs plus a third one."""
    return a * b + c


inputs = {"a": 2.0, "b": -3.0, "c": 10.0}
h = 1e-6
for name in inputs:
    moved = inputs | {name: inputs[name] + h}
    print(f"dd/d{name} = {(d_of(**moved) - d_of(**inputs)) / h:.4f}")

# %% [markdown]
# $\partial d / \partial a = b = -3$, $\partial d / \partial b = a = 2$ and $\partial d / \partial
# c = 1$. The list of them all is the gradient. For $n$ inputs the quotients took $n + 1$ runs of
# the function. We are going to get all of them in one walk.

# %%
print(gradient(d_of, [2.0, -3.0, 10.0]))

# %% [markdown]
# ## 2. `Value`: numbers that remember
#
# To walk backwards we have to know how a number was computed. A `Value` holds a number in `data`,
# and beside it the operation (`_op`) and the operands (`_prev`) it came from.

# %%
a = Value(2.0, label="a")
b = Value(-3.0, label="b")
c = Value(10.0, label="c")
e = a * b
d = e + c
print(d)
print("operation:", d._op)
print("operands: ", d._prev)

# %% [markdown]
# Each result points at its operands, they at theirs, and so on down to the numbers that we typed,
# the leaves. That is the computational graph. `names=locals()` tells the drawing what we called
# them.

# %%
f = Value(-2.0, label="f")
L = d * f
draw_dot(L, names=locals())

# %% [markdown]
# `_prev` is a tuple: operands stand in the order in which they were typed, and one that was typed
# twice stands there twice. In the lecture it is a set, which is shorter to explain and forgets
# both.
#
# How many arrows lead into `a * a`? Which operand of `a - b` comes first?

# %%
draw_dot([a * a, a - b], names={"a": a, "b": b})

# %% [markdown]
# ## 3. Backpropagation by hand
#
# Every node also has a `grad`, the derivative of the last result by this node. It is 0 until
# somebody computes it.
#
# The chain rule is all we need. If $L$ depends on $d$, and $d$ on $e$, then
#
# $$ \frac{\partial L}{\partial e}
#    = \underbrace{\frac{\partial d}{\partial e}}_{\text{local derivative}}
#      \cdot \underbrace{\frac{\partial L}{\partial d}}_{\text{upstream gradient}} $$
#
# The local derivative belongs to one operation and needs nothing but its operands. The upstream
# gradient has arrived from the right.
#
# Fill in the six gradients on paper, from right to left: $L = d \cdot f$, $d = e + c$, $e =
# a\,b$.

# %%
L.grad = 1.0  # dL/dL

d.grad = f.data * L.grad  # L = d f
f.grad = d.data * L.grad

e.grad = 1.0 * d.grad  # d = e + c: a sum hands the gradient on to both
c.grad = 1.0 * d.grad

a.grad = b.data * e.grad  # e = a b: a product hands it on times the other factor
b.grad = a.data * e.grad

draw_dot(L, names=locals())

# %% [markdown]
# Is it right? Move each leaf by $h$ and look at $L$.


# %%
def result(a, b, c, f):
    """L as a function of plain numbers."""
    return (a * b + c) * f


leaves = {"a": a, "b": b, "c": c, "f": f}
now = {name: leaf.data for name, leaf in leaves.items()}
for name, leaf in leaves.items():
    moved = now | {name: now[name] + h}
    quotient = (result(**moved) - result(**now)) / h
    print(f"dL/d{name}: by hand {leaf.grad:7.3f}   by difference {quotient:7.3f}")

# %% [markdown]
# The gradient says where to go. If every leaf takes a small step along its own gradient, $L$
# rises; against it, $L$ falls. That is all there is to training.
#
# $L$ is $-8$ now. Where will it be after a step of 0.01 along the gradient: above or below?

# %%
moved = {name: leaf.data + 0.01 * leaf.grad for name, leaf in leaves.items()}
print(f"before {result(**now):.4f}, after {result(**moved):.4f}")

# %% [markdown]
# ### A neuron
#
# A neuron weighs its inputs, adds a bias and squashes the sum:
#
# $$ o = \tanh(x_1 w_1 + x_2 w_2 + b), \qquad \tanh'(n) = 1 - \tanh^2 n $$
#
# The bias is chosen so that the numbers come out round.

# %%
x1, x2 = Value(2.0), Value(0.0)
w1, w2 = Value(-3.0), Value(1.0)
b = Value(6.8813735870195432)
x1w1 = x1 * w1
x2w2 = x2 * w2
total = x1w1 + x2w2
n = total + b
o = n.tanh()
neuron = {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "b": b}
neuron |= {"x1w1": x1w1, "x2w2": x2w2, "total": total, "n": n, "o": o}
draw_dot(o, names=neuron)

# %% [markdown]
# What an operation owes to its operands is written in its `_backward`. A call does one step of
# the chain rule: it takes the node's own `grad` and adds to those of the operands.
#
# $o = 0.7071$. What is `n.grad` after the first of these calls? And which leaf gets a gradient of
# 0?

# %%
o.grad = 1.0
name_of = {node: name for name, node in neuron.items()}
for node in (o, n, total, x2w2, x1w1):
    node._backward()
    received = [f"{name_of[operand]}.grad = {operand.grad:.2f}" for operand in node._prev]
    print(f"{name_of[node] + '._backward()':18}", ", ".join(received))

# %% [markdown]
# $w_2$ gets nothing since $x_2 = 0$: an input that is off cannot teach its weight. With
# `edges="derivatives"` each arrow shows its step, *local derivative times upstream gradient =
# contribution*.

# %%
draw_dot(o, names=neuron, edges="derivatives")

# %% [markdown]
# ## 4. Backpropagation by itself, and in which order
#
# `backward()` does what we did: gradient 1 for the result, then all `_backward()` from right to
# left.

# %%
for node in neuron.values():
    node.grad = 0.0
o.backward()
for name in ("x1", "w1", "x2", "w2", "b"):
    print(f"do/d{name} = {neuron[name].grad:.4f}")

# %% [markdown]
# Here it is step by step, forward and backward, as a page to play with. Use the arrow keys, and
# turn the leaves like knobs. (Where notebooks are shown without such frames, as on GitHub,
# `python demos/explain_neuron.py` writes the page into a file.)
#
# Before you turn $x_2$ up from 0: which gradient will change most?

# %%
explain(o, names=neuron, title="A neuron, step by step")

# %% [markdown]
# With $x_2$ the sum $n$ grows, to where $\tanh$ is flatter: all gradients shrink with $1 - o^2$,
# that of $x_1$ by most. Only that of $w_2$ grows, from 0, since it is $x_2$ times what $n$ is owed.
#
# ### Why a topological order
#
# "From right to left" is clear on a picture and not in a program. The rule behind it: a node may
# hand its gradient on only when that is complete, after all nodes that use it. An order in which
# operands come before their results, walked backwards, is just that. It is called topological.
#
# In the neuron every node is used once, and mistakes do not show. Here $p$ is used twice, by $q$
# and by $r$:
#
# $$ p = a^2, \qquad q = p + a, \qquad r = p\,q = a^4 + a^3 $$
#
# What is $r'(3)$?

# %%
a = Value(3.0, label="a")
p = a * a
q = p + a
r = p * q
r.backward()
print("dr/da =", a.grad, "  4 a^3 + 3 a^2 =", 4 * 3.0**3 + 3 * 3.0**2)
draw_dot(r, names={"p": p, "q": q, "r": r})

# %% [markdown]
# Now the closures by hand in two orders. The first is a topological order from its end. The
# second visits $p$ as soon as $r$ has pointed at it. Will the second be too large or too small?


# %%
def gradient_along(*order):
    """The gradient that reaches a when the closures run in this order."""
    for node in (a, p, q, r):
        node.grad = 0.0
    r.grad = 1.0
    for node in order:
        node._backward()
    return a.grad


print("r, q, p:", gradient_along(r, q, p))
print("r, p, q:", gradient_along(r, p, q))

# %% [markdown]
# In the second order $p$ has handed on the 12 that it owes to $r$ before the 9 by way of $q$ came
# in, and so $9 \cdot 2a = 54$ are missing in the end: $135 - 54 = 81$.
#
# How does `backward()` find the order? It goes down from the result and lists a node once all its
# operands are listed, each node once. Reversed, that is the order to hand gradients on.

# %%
names = {a: "a", p: "p", q: "q", r: "r"}
print([names[node] for node in topological_order(r)])

# %% [markdown]
# ## 5. Gradients add up
#
# Someone writes a sum of their own, `=` where this package has `+=`. This is also how an
# operation of your own is made: a `Value` with its operands, and then its `_backward`.
#
# $s = a + a$. What will `a.grad` be?


# %%
def forgetful_sum(a, b):
    """The sum of two Values, with a mistake in its backward step."""
    out = Value(a.data + b.data, (a, b), "+")

    def _backward():
        a.grad = out.grad  # should be +=
        b.grad = out.grad

    out._backward = _backward
    return out


a = Value(3.0)
forgetful_sum(a, a).backward()
print("with  =:", a.grad)

a = Value(3.0)
(a + a).backward()
print("with +=:", a.grad)

# %% [markdown]
# $a + a = 2a$ has the derivative 2. There are two ways from $a$ to the sum, each brings a 1, and
# where ways meet, gradients add up. With `=` the second 1 replaces the first.

# %% [markdown]
# ### A second `backward()`
#
# Since gradients are added, they also add up from one `backward()` to the next. Here $y = x^3$ at
# $x = 2$, as $(x \cdot x) \cdot x$, so $y' = 12$.
#
# What is `x.grad` after one call, and after two?

# %%
x = Value(2.0)
square = x * x
y = square * x
y.backward()
print("once: ", x.grad)
y.backward()
print("twice:", x.grad)

# %% [markdown]
# Twice as much. The nodes in between are reset by each `backward()`, and only leaves add up. If
# the inner ones added up as well, as in the lecture's engine, `square` would hand on the gradient
# of the first call a second time. Without the reset:

# %%
x.grad = square.grad = 0.0
for _ in range(2):
    y.grad = 1.0
    y._backward()
    square._backward()
    print(f"square.grad = {square.grad:4}   x.grad = {x.grad:4}")

# %% [markdown]
# The second call should have added 12 and has added 20.
#
# That leaves add up is of use: the gradient of a sum of losses is the sum of their gradients, one
# `backward()` for each. Who wants to start afresh says so, with `x.grad = 0` or, for a network,
# `model.zero_grad()`. In part 7 we see what happens to those who forget.

# %% [markdown]
# ## 6. Operations, large and small
#
# An operation may be as large as we like, as long as we know its derivative. $\tanh$ in pieces:
#
# $$ \tanh n = \frac{e^{2n} - 1}{e^{2n} + 1} $$
#
# Will the gradients of the leaves change? And how many paths lead from $e = e^{2n}$ to $o$?

# %%
x1, x2 = Value(2.0), Value(0.0)
w1, w2 = Value(-3.0), Value(1.0)
b = Value(6.8813735870195432)
n = x1 * w1 + x2 * w2 + b
e = (2 * n).exp()
above, below = e - 1, e + 1
o = above / below
o.backward()
for name, leaf in {"x1": x1, "w1": w1, "x2": x2, "w2": w2, "b": b}.items():
    print(f"do/d{name} = {leaf.grad:.4f}")

# %% [markdown]
# The gradients are the same. Here is the part behind $n$, for a neuron whose sum was 0.5:

# %%
n = Value(0.5)
e = (2 * n).exp()
above, below = e - 1, e + 1
o = above / below
o.backward()
pieces = {"n": n, "e": e, "above": above, "below": below, "o": o}
draw_dot(o, names=pieces, edges="derivatives")

# %% [markdown]
# Along each path the local derivatives multiply, and the paths add up:

# %%
sum_over_paths(o, e, names=pieces)

# %% [markdown]
# ### Why `a - b` is an operation of its own
#
# The lecture makes $a - b$ out of what is there already: $a + (-b)$, and $-b$ as $b \cdot (-1)$.
# The numbers come out right. The price: five nodes for three, slower and larger, and a drawing of
# something that nobody typed. Here `-`, `/` and the negative have their own $-1$ and quotient
# rule.

# %%
a, b = Value(5.0), Value(2.0)
difference = a - b
in_pieces = a + b * -1
print(len(topological_order(difference)), "and", len(topological_order(in_pieces)), "nodes")
draw_dot([difference, in_pieces], names={"a": a, "b": b})

# %% [markdown]
# It also makes a point visible that is easy to get wrong. In `1 - a` the left operand is a plain
# number, Python asks `a` to do it by `a.__rsub__(1)`, and whoever forgets to swap computes $a -
# 1$. The upper operand in the drawing is the left one in the formula.

# %%
draw_dot(1 - a, names={"a": a})

# %% [markdown]
# ### An operation of your own, and a check
#
# $\text{softplus}(x) = \log(1 + e^x)$ is a smooth cousin of ReLU. Its derivative is $e^x / (1 +
# e^x)$. `check_gradients` compares what the closures say with differences, as we did by hand in
# part 3.


# %%
def softplus(x):
    """The logarithm of 1 + e^x, with its derivative written by hand."""
    power = math.exp(x.data)
    out = Value(math.log(1 + power), (x,), "softplus")

    def _backward():
        x.grad += power / (1 + power) * out.grad

    out._backward = _backward
    return out


print([round(d, 6) for d in check_gradients(lambda x, y: softplus(x * y), [0.5, 2.0])])

# %% [markdown]
# No complaint, and the gradient. Now the same with a wrong derivative. Will the check find out in
# which of the two operations the mistake is?


# %%
def wrong_softplus(x):
    """The same with a derivative that somebody remembered wrongly."""
    power = math.exp(x.data)
    out = Value(math.log(1 + power), (x,), "softplus")

    def _backward():
        x.grad += 1 / (1 + power) * out.grad

    out._backward = _backward
    return out


try:
    check_gradients(lambda x, y: wrong_softplus(x * y), [0.5, 2.0])
except GradientError as error:
    print(textwrap.fill(str(error), 90))

# %% [markdown]
# ### The same in PyTorch
#
# PyTorch works alike, with arrays in place of numbers. `retain_graph=True` keeps the graph for a
# second `backward()`; interior nodes have no `grad` there unless one asks for it.

# %% tags=["optional"]
try:
    import torch
except ImportError:
    print("PyTorch is not installed here: skipped")
else:
    numbers = {"x1": 2.0, "w1": -3.0, "x2": 0.0, "w2": 1.0, "b": 6.8813735870195432}
    leaves = {name: torch.tensor(x, dtype=torch.double) for name, x in numbers.items()}
    for leaf in leaves.values():
        leaf.requires_grad = True
    x1, w1, x2, w2, b = leaves.values()
    o = torch.tanh(x1 * w1 + x2 * w2 + b)
    o.backward()
    for name, leaf in leaves.items():
        print(f"do/d{name} = {leaf.grad.item():.4f}")

    x = torch.tensor(2.0, requires_grad=True)
    y = x * x * x
    y.backward(retain_graph=True)
    y.backward()
    print("x^3 at 2, backward twice:", x.grad.item())

# %% [markdown]
# ## 7. A network that learns four points
#
# Neurons side by side make a layer, layers in a row a multi-layer perceptron. This one has 3
# inputs, two layers of 4 neurons and one output. Weights start at random. (Here the last layer is
# linear, as in the published package; in the lecture it has a $\tanh$ too.)
#
# How many parameters does it have?

# %%
random.seed(0)
model = MLP(3, [4, 4, 1], activation="tanh")
print(model.summary())

# %% [markdown]
# Four examples with their targets, and the loss, which says in one number how wrong the network
# is:
#
# $$ \text{loss} = \sum_{i=1}^{4} \bigl(\text{model}(x_i) - y_i\bigr)^2 $$
#
# At the level of layers its graph looks like this; operation by operation it has some 350 nodes.

# %%
X = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
Y = [1.0, -1.0, -1.0, 1.0]
loss = sum((model(x) - y) ** 2 for x, y in zip(X, Y, strict=True))
print(f"loss {loss.data:.3f}, {len(topological_order(loss))} nodes")
draw_dot(loss, names={"model": model}, level="layer")

# %% [markdown]
# A step of training: forward, reset, backward, and every parameter moves against its gradient.
# Why against it?

# %%
losses = []
for _ in range(40):
    loss = sum((model(x) - y) ** 2 for x, y in zip(X, Y, strict=True))
    model.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        parameter.data -= 0.05 * parameter.grad
    losses.append(loss.data)

print("loss       ", *(f"{number:.4f}" for number in losses[::8]))
print("targets    ", Y)
print("predictions", [round(model(x).data, 2) for x in X])

# %% [markdown]
# Now the same from the same start, without `zero_grad()`. Each step then moves along the sum of
# all gradients so far, also of those that were right long ago. What will its curve look like?

# %%
random.seed(0)
model = MLP(3, [4, 4, 1], activation="tanh")
careless = []
for _ in range(40):
    loss = sum((model(x) - y) ** 2 for x, y in zip(X, Y, strict=True))
    loss.backward()
    for parameter in model.parameters():
        parameter.data -= 0.05 * parameter.grad
    careless.append(loss.data)

figure, ax = plt.subplots(figsize=(4.5, 2.6), dpi=80)
ax.plot(losses, color="black", label="with zero_grad()")
ax.plot(careless, color="tab:red", label="without")
ax.set(xlabel="step", ylabel="loss", yscale="log")
ax.legend(frameon=False)
figure.tight_layout()

# %% [markdown]
# Gradients that pile up work like a heavy ball: it gathers speed, shoots past the valley and swings
# back. In the first steps the two curves are hardly apart, which is why this mistake is so hard to
# notice.
#
# ## Questions to take home
#
# 1. Move the bias of the neuron in part 3 to 0. Which gradients become small, and why?
# 2. Write `relu` as an operation of your own. What do you do at 0? Ask `check_gradients` there.
# 3. List all topological orders of $s = a\,b + b\,c$ (`micrograd.graph.topological_orders`). Why
#    does it not matter which of them `backward()` takes?
# 4. Call `backward()` of `a + b`, and then of `a * b` with the same leaves. What is in `a.grad`?
# 5. Train with a learning rate of 0.5 in place of 0.05. What do you see, and what does the gradient
#    promise only for small steps?
#
# The next notebook, `backprop_in_pictures.ipynb`, looks at the same graphs from the other side:
# forward mode, sums over paths, and why one walk back costs no more than a few walks forward.
# `break_it.py` has five mistakes to find.
