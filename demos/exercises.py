# %% [markdown]
# # The exercises of the lecture
#
# Andrej Karpathy's lecture on micrograd comes with
# [exercises](https://colab.research.google.com/drive/1FPTx1RXtBfc4MaTkf7viZZD4U2F9gtKN). These are
# their two subjects, in other words: a derivative, found in three ways, and a softmax with its
# negative log likelihood, whose gradients are compared with PyTorch's.
#
# | part | minutes |
# |---|---|
# | 1. A derivative by hand | 10 |
# | 2. The same, numerically | 10 |
# | 3. The same, by `backward()` | 10 |
# | 4. Two operations of your own | 10 |
# | 5. Softmax and negative log likelihood | 15 |
# | 6. Compared with PyTorch | 5 |
#
# Many texts end in a question. Work out your answer first, on paper or in a cell of your own. The
# output of the cells that follow is not saved here; compare your answer with `solutions.md`.

# %%
import math

from micrograd import Value, check_gradients, derivative, draw_dot, gradient
from micrograd.losses import cross_entropy

# %% [markdown]
# ## 1. A derivative by hand
#
# A function of three inputs, and the point where we look at it:
#
# $$ f(a, b, c) = -a^3 + \sin(3 b) - \frac{1}{c} + b^{2.5} - \sqrt{a}, \qquad a = 2,\; b = 3,\; c =
# 4 $$


# %%
def f(a, b, c):
    """The function, for numbers."""
    return -(a**3) + math.sin(3 * b) - 1.0 / c + b**2.5 - a**0.5


point = 2.0, 3.0, 4.0
print(f(*point))

# %% [markdown]
# Each term has one input, so the derivative with respect to an input is the sum of the derivatives
# of its terms. What are $\partial f / \partial a$, $\partial f / \partial b$ and $\partial f /
# \partial c$?


# %%
def gradient_by_hand(a, b, c):
    """The three derivatives of f."""
    return [-3 * a**2 - 0.5 * a**-0.5, 3 * math.cos(3 * b) + 2.5 * b**1.5, 1 / c**2]


by_hand = gradient_by_hand(*point)
print([round(d, 6) for d in by_hand])

# %% [markdown] tags=["answer"]
# $$ \frac{\partial f}{\partial a} = -3 a^2 - \frac{1}{2 \sqrt{a}}, \qquad \frac{\partial
# f}{\partial b} = 3 \cos(3 b) + 2.5\, b^{1.5}, \qquad \frac{\partial f}{\partial c} = \frac{1}{c^2}
# $$
#
# At this point they are $-12.353553$, $10.256990$ and $0.0625$.

# %% [markdown]
# If $c$ grows from 4 to 4.1, by about how much does $f$ change?

# %%
print("predicted", round(0.1 * by_hand[2], 6))
print("found    ", round(f(2.0, 3.0, 4.1) - f(*point), 6))

# %% [markdown] tags=["answer"]
# By about $0.1 \cdot 0.0625 = 0.00625$. It is 0.0061: the slope falls a little on the way.

# %% [markdown]
# ## 2. The same, numerically
#
# Move one input by a small $h$, and divide the change of the result by $h$:
#
# $$ \frac{f(x + h) - f(x)}{h} $$
#
# With $h = 10^{-6}$, how many digits of the result are right?


# %%
def quotients(h, two_sided=False):
    """The three quotients, of one side or of both."""
    found = []
    for i in range(3):
        right, left = list(point), list(point)
        right[i] += h
        left[i] -= h * two_sided
        found.append((f(*right) - f(*left)) / (h + h * two_sided))
    return found


for hand, number in zip(by_hand, quotients(1e-6), strict=True):
    print(f"{hand:13.8f} {number:13.8f}   error {abs(number - hand):.0e}")

# %% [markdown] tags=["answer"]
# Six or seven. The error is about $h f''(x) / 2$: half of the second derivative times $h$.

# %% [markdown]
# The symmetric quotient looks to both sides: $(f(x + h) - f(x - h)) / (2 h)$. Why is it better?

# %%
for hand, number in zip(by_hand, quotients(1e-5, two_sided=True), strict=True):
    print(f"{hand:14.10f} {number:14.10f}   error {abs(number - hand):.0e}")

# %% [markdown] tags=["answer"]
# The parts of the error that come from $f''$ are equal on both sides, so they cancel. What is left
# is about $h^2 f'''(x) / 6$.

# %% [markdown]
# Is it more exact with $h = 10^{-12}$?

# %%
worst = [max(abs(q - d) for q, d in zip(quotients(h, True), by_hand, strict=True))
         for h in (1e-3, 1e-5, 1e-12)]  # fmt: skip
print("errors fall, then grow:", worst[0] > worst[1] < worst[2])

# %% [markdown] tags=["answer"]
# No. Both results agree in nearly all of their 16 digits, so the difference has only few that are
# right: rounding now is far larger than $h^2$.

# %% [markdown]
# ## 3. The same, by `backward()`
#
# The engine of the lecture needs some more operations for this: `sin`, a power, a quotient. Here
# they exist, so $f$ can be written as above, with `.sin()`.
#
# In which order does `backward()` visit the nodes $3 b$, $\sin(3 b)$ and $b$?

# %%
a, b, c = (Value(x) for x in point)
u = 3 * b
s = u.sin()
result = -(a**3) + s - 1.0 / c + b**2.5 - a**0.5
result.backward()
for hand, leaf in zip(by_hand, (a, b, c), strict=True):
    print(f"{hand:.12f} {leaf.grad:.12f}")

# %% [markdown] tags=["answer"]
# From the result back: first $\sin(3 b)$, then $3 b$, then $b$, and $b$ only after $b^{2.5}$, too,
# because both contribute to its gradient. The results agree with those by hand in all of these
# digits: there is no $h$.

# %% [markdown]
# The part of the graph that leads to $\sin(3 b)$, with the chain rule beside each operand:

# %%
draw_dot(s, names={"b": b, "u": u, "s": s}, edges="derivatives")

# %% [markdown]
# The gradients above are those of the whole result, so the drawing says that they do not belong to
# $s$ alone. What is $\partial s / \partial b$?

# %%
print(round(derivative(lambda b: (3 * b).sin(), 3.0), 6), round(3 * math.cos(9.0), 6))

# %% [markdown] tags=["answer"]
# $3 \cos(3 b) = 3 \cos 9 = -2.733391$. The gradient of $b$ has $2.5\, b^{1.5} = 12.990381$ in it,
# too: together 10.256990.

# %% [markdown]
# ## 4. Two operations of your own
#
# A softmax needs $e^x$ and $\log x$. The engine has both; write them once yourself, as in the
# lecture: a node whose `_backward` adds the contribution to the gradient of its operand.
#
# What are the local derivatives of $e^x$ and $\log x$, and which of them can use the result that is
# known already?


# %%
def my_exp(x):
    """E to the power of x."""
    out = Value(math.exp(x.data), (x,), "exp")

    def _backward():
        x.grad += out.data * out.grad

    out._backward = _backward
    return out


def my_log(x):
    """The natural logarithm of x."""
    out = Value(math.log(x.data), (x,), "log")

    def _backward():
        x.grad += out.grad / x.data

    out._backward = _backward
    return out


x = Value(0.7)
(2 * my_log(my_exp(x) + 1)).backward()
print(round(x.grad, 6), round(derivative(lambda x: 2 * (x.exp() + 1).log(), 0.7), 6))

# %% [markdown] tags=["answer"]
# $(e^x)' = e^x$, which is the result itself, and $(\log x)' = 1 / x$, which needs the operand.

# %% [markdown]
# `check_gradients` compares every gradient with symmetric quotients, and every operation with its
# own. Which mistake would `x.grad = out.data * out.grad` be, with `=` instead of `+=`?


# %%
def wrong_exp(x):
    """E to the power of x, with a mistake that shows only if x is used twice."""
    out = my_exp(x)

    def _backward():
        x.grad = out.data * out.grad

    out._backward = _backward
    return out


x = Value(0.7)
(wrong_exp(x) + wrong_exp(x)).backward()
print("found", round(x.grad, 6), "expected", round(2 * math.exp(0.7), 6))
check_gradients(lambda x: my_exp(x) + my_log(x), [0.7])

# %% [markdown] tags=["answer"]
# The second use of $x$ would overwrite what the first one gave. Contributions to a gradient add up.

# %% [markdown]
# ## 5. Softmax and negative log likelihood
#
# A network with a score (logit) for each of four classes says how likely each of them is with a
# softmax. The loss is the negative logarithm of the probability of the true class:
#
# $$ p_k = \frac{e^{z_k}}{\sum_j e^{z_j}}, \qquad \text{loss} = -\log p_t $$
#
# The logits are 0, 3, -2 and 1, and the true class is the last one, $t = 3$. Which probability is
# the largest, and is the loss above or below $\log 4 = 1.386$, which a guess would give?


# %%
def softmax(logits):
    """The probabilities of the classes."""
    counts = [my_exp(z) for z in logits]
    total = sum(counts)
    return [count / total for count in counts]


def likelihood_loss(logits, target):
    """The negative log likelihood of the true class."""
    return -my_log(softmax(logits)[target])


z = [Value(x) for x in (0.0, 3.0, -2.0, 1.0)]
loss = likelihood_loss(z, 3)
print("probabilities", [round(p.data, 4) for p in softmax(z)])
print("loss", round(loss.data, 6))

# %% [markdown] tags=["answer"]
# That of class 1, which has the largest logit: 0.839. The true class gets only 0.114, less than a
# quarter, so the loss is above 1.386: it is 2.176.

# %% [markdown]
# Now the gradients. By hand there is a short formula for them: can you find it, from $\text{loss} =
# \log \sum_j e^{z_j} - z_t$?

# %%
loss.backward()
for k, (logit, p) in enumerate(zip(z, softmax(z), strict=True)):
    print(f"z[{k}]  grad {logit.grad:9.6f}   p - [k = 3] {p.data - (k == 3):9.6f}")

# %% [markdown] tags=["answer"]
# $\partial\,\text{loss} / \partial z_k = p_k - [k = t]$: the probability, minus 1 for the true
# class. So training raises the logit of the true class and lowers the others, those most that are
# most likely.

# %% [markdown]
# What is the sum of the four gradients, and why?

# %%
print(round(abs(sum(logit.grad for logit in z)), 9))

# %% [markdown] tags=["answer"]
# 0. If all logits grow by the same number, each $e^{z_k}$ and their sum grow by the same factor, so
# neither the probabilities nor the loss change.

# %% [markdown]
# This helps in practice, too. What happens with the logits 1000 and 0, and how can one use the
# answer above?

# %%
try:
    likelihood_loss([Value(1000.0), Value(0.0)], 0)
except OverflowError as error:
    print("OverflowError:", error)
print("cross_entropy:", cross_entropy([Value(1000.0), Value(0.0)], 0).data)

# %% [markdown] tags=["answer"]
# $e^{1000}$ is larger than the largest float. Subtract the largest logit from all of them first:
# the probabilities stay the same, and no exponent is above 0. `cross_entropy` does that.

# %% [markdown]
# A batch has several rows of logits; its loss is the mean. What are the gradients of a row then?

# %%
rows = [[Value(x) for x in row] for row in ((0.0, 3.0, -2.0, 1.0), (1.0, 1.0, 1.0, 1.0))]
mean = sum(likelihood_loss(row, 3) for row in rows) / 2
mean.backward()
for row in rows:
    print([round(logit.grad, 6) for logit in row])

# %% [markdown] tags=["answer"]
# Half of what they would be alone, $(p_k - [k = t]) / 2$, since each loss has the factor 1/2 in the
# mean. In the second row all four probabilities are 1/4.

# %% [markdown]
# ## 6. Compared with PyTorch
#
# The same logits as a tensor. PyTorch has the formula of part 5 built in; here it is written out,
# so that its own backward pass finds it.

# %% tags=["optional"]
try:
    import torch
except ImportError:
    print("PyTorch is not installed here: skipped")
else:
    tensor = torch.tensor([0.0, 3.0, -2.0, 1.0], dtype=torch.double, requires_grad=True)
    counts = tensor.exp()
    theirs = -(counts / counts.sum())[3].log()
    theirs.backward()
    print("loss", theirs.item(), "and", loss.data)
    for ours, number in zip(z, tensor.grad.tolist(), strict=True):
        print(f"{ours.grad:20.16f} {number:20.16f}", abs(ours.grad - number) < 1e-12)

# %% [markdown]
# And without PyTorch, `gradient` gives the same from the engine's own operations:

# %%
print([round(d, 6) for d in gradient(lambda *z: cross_entropy(list(z), 3), [0.0, 3.0, -2.0, 1.0])])

# %% [markdown]
# ## Questions to take home
#
# 1. Find the second derivative of $f$ with respect to $a$ by hand, then with `derivative(..., 2)`.
# 2. Which logit would you change, and to what, so that the loss of part 5 is 0.1?
# 3. Divide all logits by a number $T$ before the softmax. What do a very small and a very large $T$
#    do to the probabilities?
# 4. Write `softmax` so that `likelihood_loss([Value(1000.0), Value(0.0)], 0)` gives 0.

# %% [markdown] tags=["answer"]
# 1. $-6 a + \tfrac{1}{4} a^{-1.5} = -11.911612$, and `derivative(lambda a: -(a**3) - a**0.5, 2.0,
#    order=2)`.
# 2. The last one: $p_3 = e^{-0.1} = 0.905$ needs $e^{z_3} = 0.905 / 0.095$ times the sum of the
#    other three, 21.22, so $z_3 = 5.31$.
# 3. A small $T$ gives nearly all to the largest logit; a large one makes all nearly equal.
# 4. Begin with `most = max(logit.data for logit in logits)` and use `my_exp(z - most)`.

# %% [markdown]
# `micrograd start my_engine.py` writes a skeleton for an engine of your own, and `micrograd grade
# my_engine.py` checks it. `after_the_lecture.ipynb` goes on with embeddings, convolutions and more.
