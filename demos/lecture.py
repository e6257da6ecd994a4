# %% [markdown]
# # Backpropagation, spelled out
#
# This is a companion to Andrej Karpathy's lecture [The spelled-out intro to neural networks and
# backpropagation: building micrograd](https://www.youtube.com/watch?v=VMj-3S1tku0) (2022), in
# other words and with the engine of this package. It also answers questions that the lecture leaves
# open: why backpropagation needs a topological order, what a second `backward()` does, and why
# `a - b` is a separate operation.
#
# | part | minutes |
# |---|---|
# | 1. The derivative with one input, and with several | 10 |
# | 2. `Value`: numbers that remember | 10 |
# | 3. Backpropagation by hand | 15 |
# | 4. Automatic backpropagation, and the order of nodes | 15 |
# | 5. Gradients add up | 10 |
# | 6. Large and small operations | 10 |
# | 7. A network that learns four points | 10 |
#
# Many texts end in a question. Write down your answer, then run the next cells. Their output is not
# saved here; compare your answer with `solutions.md`.

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
    topological_order,
)
from micrograd.derivatives import GradientError
from micrograd.nn import MLP

# %% [markdown]
# ## 1. The derivative with one input, and with several
#
# The derivative says how fast the result of a function changes when its input changes:
#
# $$ f'(x) = \lim_{h \to 0} \frac{f(x + h) - f(x)}{h} $$
#
# Here is a parabola. Where does it rise, where does it fall, and where is it flat?


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

# %% [markdown] tags=["answer"]
# It falls to the left of $x = 2/3$, where its slope is negative, is flat there, and rises to the
# right of it.

# %% [markdown]
# By hand, $f'(x) = 6 x - 4$, so $f'(3) = 14$. A computer that knows no calculus can use a small $h$
# instead of the limit.
#
# Does the quotient get closer and closer to 14 as $h$ shrinks from 1 to $10^{-15}$?

# %%
print("       h   quotient      error")
for exponent in range(0, 16, 3):
    h = 10.0**-exponent
    quotient = (parabola(3.0 + h) - parabola(3.0)) / h
    print(f"  1e-{exponent:02} {quotient:10.6f} {quotient - 14:10.1e}")

# %% [markdown] tags=["answer"]
# At first it does: the error is $3 h$. Then rounding takes over: $f(x + h)$ and $f(x)$ agree in
# nearly all of their 16 digits, so only the last few are left in the difference.

# %% [markdown]
# Backpropagation has no $h$. It applies the rules of calculus to each operation, and its result is
# exact up to rounding.

# %%
print(derivative(parabola, 3.0))

# %% [markdown]
# A function of several inputs has one derivative for each: change one input, keep the others fixed.
#
# $$ d = a\,b + c, \qquad a = 2,\quad b = -3,\quad c = 10 $$
#
# If $a$ grows a little, does $d$ grow or shrink, and how many times as fast? What about $b$ and
# $c$?


# %%
def d_of(a, b, c):
    """The product of two inputs, plus a third."""
    return a * b + c


inputs = {"a": 2.0, "b": -3.0, "c": 10.0}
h = 1e-6
for name in inputs:
    moved = inputs | {name: inputs[name] + h}
    print(f"dd/d{name} = {(d_of(**moved) - d_of(**inputs)) / h:.4f}")

# %% [markdown] tags=["answer"]
# $\partial d / \partial a = b = -3$, $\partial d / \partial b = a = 2$ and $\partial d / \partial
# c = 1$.

# %% [markdown]
# The list of all derivatives is the gradient. For $n$ inputs, the quotients take $n + 1$
# runs of the function. Backpropagation gets all derivatives in one pass:

# %%
print(gradient(d_of, [2.0, -3.0, 10.0]))

# %% [markdown]
# ## 2. `Value`: numbers that remember
#
# To go backward, we have to know how each number was computed. A `Value` holds a number in `data`,
# together with the operation (`_op`) and the operands (`_prev`) it came from.

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
# Each result points to its operands, these point to theirs, and so on down to the leaves, the
# numbers that we typed. This is the computational graph. `draw_dot` reads the names of our
# variables.

# %%
f = Value(-2.0, label="f")
L = d * f
draw_dot(L)

# %% [markdown]
# `_prev` is a tuple: it keeps operands in the order in which they were typed, and an operand that
# was typed twice is in it twice. In the lecture `_prev` is a set, which loses both the order and
# the repetition.
#
# How many arrows lead into `a * a`? Which operand of `a - b` comes first?

# %%
draw_dot([a * a, a - b], names={"a": a, "b": b})

# %% [markdown] tags=["answer"]
# Two arrows lead into $a \cdot a$, because $a$ is used twice. In $a - b$, the arrow of $a$ enters
# above that of $b$.

# %% [markdown]
# ## 3. Backpropagation by hand
#
# Every node also has a `grad`: the derivative of the final result with respect to this node. It is
# 0 until it is computed.
#
# The chain rule is all we need. If $L$ depends on $d$, and $d$ on $e$, then
#
# $$ \frac{\partial L}{\partial e}
#    = \underbrace{\frac{\partial d}{\partial e}}_{\text{local derivative}}
#      \cdot \underbrace{\frac{\partial L}{\partial d}}_{\text{upstream gradient}} $$
#
# The local derivative belongs to one operation and depends only on its operands. The upstream
# gradient comes from the right.
#
# Fill in the gradients on paper, from right to left: $L = d \cdot f$, $d = e + c$, $e = a\,b$.

# %%
L.grad = 1.0  # dL/dL

d.grad = f.data * L.grad  # L = d f
f.grad = d.data * L.grad

e.grad = 1.0 * d.grad  # d = e + c: a sum passes the gradient on to both operands
c.grad = 1.0 * d.grad

a.grad = b.data * e.grad  # e = a b: a product multiplies it by the other factor
b.grad = a.data * e.grad

draw_dot(L)

# %% [markdown]
# Are they right? Change each leaf by $h$ and see how $L$ changes.


# %%
def result(a, b, c, f):
    """L as a function of plain numbers."""
    return (a * b + c) * f


leaves = {"a": a, "b": b, "c": c, "f": f}
now = {name: leaf.data for name, leaf in leaves.items()}
for name, leaf in leaves.items():
    moved = now | {name: now[name] + h}
    quotient = (result(**moved) - result(**now)) / h
    print(f"dL/d{name}: by hand {leaf.grad:7.3f}   difference quotient {quotient:7.3f}")

# %% [markdown]
# The gradient gives a direction. If every leaf takes a small step along its gradient, $L$ rises. If
# they step against their gradients, $L$ falls. Training repeats such a downward step many times.
#
# Now $L$ is $-8$. After a step of 0.01 along the gradient, will it be higher or lower?

# %%
moved = {name: leaf.data + 0.01 * leaf.grad for name, leaf in leaves.items()}
print(f"before {result(**now):.4f}, after {result(**moved):.4f}")

# %% [markdown] tags=["answer"]
# Higher: $-7.29$. Each leaf moves along its gradient, so each contributes a positive amount, about
# $0.01$ times the square of its gradient.

# %% [markdown]
# ### A neuron
#
# A neuron multiplies its inputs by weights, adds a bias and squashes the sum:
#
# $$ o = \tanh(x_1 w_1 + x_2 w_2 + b), \qquad \tanh'(n) = 1 - \tanh^2 n $$
#
# The bias is chosen to give round numbers.

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
# Each operation has its derivative rule in its `_backward`. One call does one step of the chain
# rule: it reads the `grad` of the node and adds to the `grad` of each operand.
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

# %% [markdown] tags=["answer"]
# $w_2$ gets 0 because $x_2 = 0$: a weight cannot learn from an input of 0.

# %% [markdown]
# With `edges="derivatives"`, each arrow shows its step of the chain rule: *local derivative times
# upstream gradient = contribution*.

# %%
draw_dot(o, names=neuron, edges="derivatives")

# %% [markdown]
# ## 4. Automatic backpropagation, and the order of nodes
#
# `backward()` does the same: it sets the gradient of the result to 1, then calls every
# `_backward()` from right to left.

# %%
for node in neuron.values():
    node.grad = 0.0
o.backward()
for name in ("x1", "w1", "x2", "w2", "b"):
    print(f"do/d{name} = {neuron[name].grad:.4f}")

# %% [markdown]
# Here is an interactive page that shows it step by step, forward and backward. Use the arrow keys,
# and change the leaves. (GitHub and some other viewers do not show such pages. Then run
# `python demos/explain_neuron.py`, which writes the page to a file.)
#
# Before you increase $x_2$ from 0: which gradient will change most?

# %%
explain(o, names=neuron, title="A neuron, step by step")

# %% [markdown] tags=["answer"]
# As $x_2$ grows, so does the sum $n$, and $\tanh$ gets flatter. All gradients shrink with
# $1 - o^2$, the gradient of $x_1$ the most. Only the gradient of $w_2$ grows from 0, because it is
# $x_2$ times the gradient of $n$.

# %% [markdown]
# ### Why a topological order
#
# "From right to left" is clear in a picture, but not in a program. The rule behind it: a node may
# pass its gradient on only when that gradient is complete, which is after all nodes that use it. In
# a topological order, operands come before their results. So its reverse follows this rule.
#
# In the neuron every node is used only once, so any walk back from the result gives the right
# gradients. Here $p$ is used twice, by $q$ and by $r$:
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

# %% [markdown] tags=["answer"]
# $r'(3) = 4 \cdot 27 + 3 \cdot 9 = 135$.

# %% [markdown]
# Now call the closures by hand in two orders. The first is a topological order, reversed. The
# second visits $p$ right after $r$, before $q$. Will its result be too large or too small?


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

# %% [markdown] tags=["answer"]
# In the second order, $p$ passes on the 12 that it got from $r$ before the 9 from $q$ arrives. So
# $9 \cdot 2a = 54$ is missing in the end: $135 - 54 = 81$.

# %% [markdown]
# How does `backward()` find the order? It starts at the result and lists each node once, after all
# of its operands. In the reverse of this list, every gradient is complete before it is passed on.

# %%
names = {a: "a", p: "p", q: "q", r: "r"}
print([names[node] for node in topological_order(r)])

# %% [markdown]
# ## 5. Gradients add up
#
# Here is a sum with a mistake: its `_backward` has `=` where this package has `+=`. It also shows
# how to write your own operation: create a `Value` with its operands, then set its `_backward`.
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

# %% [markdown] tags=["answer"]
# $a + a = 2a$ has the derivative 2. There are two paths from $a$ to the sum. Each contributes 1,
# and contributions add up. With `=`, the second 1 replaces the first.

# %% [markdown]
# ### A second `backward()`
#
# Because gradients are added, they also add up from one `backward()` to the next. Here $y = x^3$ at
# $x = 2$, computed as $(x \cdot x) \cdot x$, so $y' = 12$.
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

# %% [markdown] tags=["answer"]
# 12, and then 24: twice as much.

# %% [markdown]
# Each `backward()` resets the interior nodes, so only leaves accumulate. In the
# lecture's engine the interior nodes accumulate as well. There, `square` passes on the gradient of
# the first call a second time. This is what happens without the reset:

# %%
x.grad = square.grad = 0.0
for _ in range(2):
    y.grad = 1.0
    y._backward()
    square._backward()
    print(f"square.grad = {square.grad:4}   x.grad = {x.grad:4}")

# %% [markdown]
# The second call should have added 12, but it added 20.
#
# It is useful that leaves accumulate: the gradient of a sum of losses is the sum of their
# gradients, so you can call `backward()` on one loss after the other. To start again from 0, write
# `x.grad = 0` or, for a network, `model.zero_grad()`. Part 7 shows what happens if you forget.

# %% [markdown]
# ## 6. Large and small operations
#
# An operation may be as large as we like, as long as we know its derivative. Here is $\tanh$ built
# from smaller operations:
#
# $$ \tanh n = \frac{e^{2n} - 1}{e^{2n} + 1} $$
#
# Do the gradients of the leaves change? And how many paths lead from $e = e^{2n}$ to $o$?

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

# %% [markdown] tags=["answer"]
# The gradients are the same. Two paths lead from $e$ to $o$: one through the numerator, one through
# the denominator.

# %% [markdown]
# Here is the part after $n$, for a neuron whose sum is $n = 0.5$:

# %%
n = Value(0.5)
e = (2 * n).exp()
above, below = e - 1, e + 1
o = above / below
o.backward()
pieces = {"n": n, "e": e, "above": above, "below": below, "o": o}
draw_dot(o, names=pieces, edges="derivatives")

# %% [markdown]
# Multiply the local derivatives along each path, then add up the paths:

# %%
through_above = above.grad * 1  # do/d above, times d above/de = 1
through_below = below.grad * 1
print(f"{through_above:.6f} + ({through_below:.6f}) = {e.grad:.6f}")

# %% [markdown]
# ### Why `a - b` is a separate operation
#
# The lecture builds $a - b$ from existing operations: $a + (-b)$, with $-b$ as $b \cdot (-1)$. The
# numbers are right, but there are five nodes instead of three, which takes more time and memory,
# and the drawing does not show what was typed. Here subtraction, division and negation are separate
# operations with their own derivatives.

# %%
a, b = Value(5.0), Value(2.0)
difference = a - b
in_pieces = a + b * -1
print(len(topological_order(difference)), "and", len(topological_order(in_pieces)), "nodes")
draw_dot([difference, in_pieces], names={"a": a, "b": b})

# %% [markdown]
# The drawing also shows a detail that is easy to get wrong. In `1 - a` the left operand is a plain
# number, so Python calls `a.__rsub__(1)`. If that method forgets to swap its operands, it computes
# $a - 1$. The upper operand in the drawing is the left one in the formula.

# %%
draw_dot(1 - a, names={"a": a})

# %% [markdown]
# ### Your own operation, and a check
#
# $\text{softplus}(x) = \log(1 + e^x)$ is a smooth version of ReLU. Its derivative is $e^x / (1 +
# e^x)$. `check_gradients` compares the derivatives from the closures with difference quotients, as
# we did by hand in part 3.


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
# The check passes and returns the gradient. Now the same with a wrong derivative. Will the check
# find which of the two operations is wrong?


# %%
def wrong_softplus(x):
    """The same function with a wrong derivative."""
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

# %% [markdown] tags=["answer"]
# Yes. It names `softplus`, and gives the number from the closure beside the one from differences.

# %% [markdown]
# ### The same in PyTorch
#
# PyTorch works in the same way, but on arrays instead of numbers. `retain_graph=True` keeps the
# graph for a second `backward()`. Interior nodes have no `grad` in PyTorch unless you ask for it.

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
# Several neurons with the same inputs form a layer, and several layers in sequence form a
# multi-layer perceptron. This one has 3 inputs, two layers of 4 neurons and one output. The weights
# start at random. (Here the last layer is linear, as in the published package. In the lecture it
# has a $\tanh$, too.)
#
# How many parameters does it have?

# %%
random.seed(0)
model = MLP(3, [4, 4, 1], activation="tanh")
print([len(layer.parameters()) for layer in model.layers], len(model.parameters()))

# %% [markdown] tags=["answer"]
# 41: $4 \cdot 3 + 4$ in the first layer, $4 \cdot 4 + 4$ in the second, and $4 + 1$ in the last.

# %% [markdown]
# Here are four examples with their targets. The loss says in one number how wrong the network is:
#
# $$ \text{loss} = \sum_{i=1}^{4} \bigl(\text{model}(x_i) - y_i\bigr)^2 $$
#
# This is its graph at the level of layers. At the level of operations it has about 350 nodes.

# %%
X = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
Y = [1.0, -1.0, -1.0, 1.0]
loss = sum((model(x) - y) ** 2 for x, y in zip(X, Y, strict=True))
print(f"loss {loss.data:.3f}, {len(topological_order(loss))} nodes")
draw_dot(loss, names={"model": model}, level="layer")

# %% [markdown]
# One training step: forward, reset, backward, then move every parameter against its gradient. Why
# against it?

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

# %% [markdown] tags=["answer"]
# The gradient points to where the loss rises fastest. Training wants it to fall.

# %% [markdown]
# Now train from the same start, but without `zero_grad()`. Each step then follows the sum of all
# gradients so far, including old ones that no longer apply. What will the curve look like?

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

# %% [markdown] tags=["answer"]
# Gradients that pile up act like a heavy ball: it gathers speed, rolls past the bottom of the
# valley and swings back. In the first steps the two curves are nearly the same. That is why this
# mistake is so hard to notice.

# %% [markdown]
# ### Two lines for faster training
#
# While a graph grows, Python's garbage collector visits all objects again and again, in search of
# reference cycles. Graphs of this package have none: nodes point to their operands, never to their
# results. So, after `import gc`, either of these lines saves time:
#
# - `gc.freeze()` after the imports: the collector skips what they created
# - `gc.disable()`: no collector at all, until `gc.enable()`
#
# With scikit-learn and Matplotlib imported, a training step of a 2-16-16-1 network on 100 points
# takes 208 ms. After `gc.freeze()` it takes 138 ms, and with the collector off 86 ms (2 cores of an
# AMD EPYC, CPython 3.11).
#
# Your own operations are different: in part 6, `out` holds `_backward`, and `_backward` uses `out`.
# This is a cycle, and only the collector frees it. So with such operations, leave the collector on.

# %% [markdown]
# ## Questions to take home
#
# 1. Set the bias of the neuron in part 3 to 0. Which gradients become small, and why?
# 2. Write `relu` as your own operation. What do you do at 0? What does `check_gradients` say there?
# 3. List all topological orders of $s = a\,b + b\,c$. Why does it not matter which of them
#    `backward()` uses? (`backprop_in_pictures.ipynb` has a function that lists them.)
# 4. Call `backward()` on `a + b`, and then on `a * b` with the same leaves. What is in `a.grad`?
# 5. Train with a learning rate of 0.5 instead of 0.05. What do you see? What does the gradient
#    promise only for small steps?

# %% [markdown] tags=["answer"]
# 1. All of them: each is a product with $1 - o^2$, which is small where $\tanh$ is flat. With $b =
#    0$ the sum is $n = -6$ and $1 - o^2 = 2.5 \cdot 10^{-5}$. The neuron is saturated: it hardly
#    learns.
# 2. `out = Value(max(x.data, 0.0), (x,), "relu")`, and in `_backward`
# `x.grad += (x.data > 0) * out.grad`. At 0 there is no derivative; 0 and 1 are both common choices.
# `check_gradients` raises an error: differences give 0.5, the mean of both sides. It adds that at a
# kink, neither is wrong.
# 3. With $p = a\,b$ and $q = b\,c$, the three leaves come before the products that use them, and
#    $s$ last: 16 orders. In each of them, reversed, a node passes its gradient on only after all
#    its users, so the sums are the same.
# 4. 1 from the first call, plus the derivative of $a\,b$, which is `b.data`: leaves accumulate.
# 5. The loss jumps up and down or grows. The gradient says how the loss changes for a small step; a
#    large step leaves the region where that is true.

# %% [markdown]
# The next notebook, `backprop_in_pictures.ipynb`, looks at the same graphs in other ways: forward
# mode, sums over paths, and why one backward pass costs no more than a few forward passes.
# `break_it.py` has five mistakes to find.
