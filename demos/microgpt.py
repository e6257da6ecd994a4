"""A small GPT, written in scalars, that learns names letter by letter and invents new ones.

    python demos/microgpt.py
    python demos/microgpt.py --input names.txt --steps 3000 --temperature 0.8
    python demos/microgpt.py --eager --steps 200
    python demos/microgpt.py --page gpt.html

A token is a letter, or END, which comes before and after every name. The model reads the tokens of
a name from left to right. After each it gives a score (logit) to every token that may follow. For
token t at position p, where each x has 16 numbers:

    x = token_table[t] + position_table[p]                        embedding
    x = x + W_projection attention(norm(x))                       attention to positions up to p
    x = x + W_2 max(0, W_1 norm(x))                               perceptron (MLP)
    logits = W_output x

    norm(x) = x / sqrt(mean of x_i^2 + 1e-5)

Each branch adds to x, the residual, and none replaces it. In attention, three matrices turn norm(x)
at position p into a query, a key and a value, each split into 4 heads of 4 numbers. A head mixes
the values v_j of the positions j = 0, ..., p, weighted by how well their keys k_j match the query q
of position p. Later positions are not available:

    weights = softmax over j of q . k_j / sqrt(4)                 head = sum_j weights_j v_j

The loss of a name is the mean over its positions of -log softmax(logits)[token that follows]. Adam
takes one step for each name, with a learning rate that falls linearly to 0. Compared with GPT-2,
this model has one layer, ReLU instead of GELU, no biases, RMSNorm without gain instead of layer
norm, and no norm at the end. With 26 letters there are 4,192 parameters.

The loss is compiled once, for the longest name, which takes about two seconds; shorter names are
padded. Then a thousand steps take less than one second. With --eager it builds a graph of about
8,000 nodes for each letter, and takes minutes. Ctrl-C ends the training early; the names are then
invented with what has been learned so far.

With --page the trained model becomes a page in one file: type a name there, look at every number on
its way to the next letter, and train the model further.

Sources: Vaswani et al., "Attention is all you need", 2017, section 3.2; Radford et al., "Language
models are unsupervised multitask learners", 2019, section 2.3 (GPT-2, the norm before each branch);
Zhang and Sennrich, "Root mean square layer normalization", 2019, equation 4.
"""

import argparse
import gc
import io
import math
import random
import sys
import unicodedata
from functools import reduce
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from tqdm import tqdm

import micrograd
from micrograd import Value, no_grad, take
from micrograd.losses import cross_entropy
from micrograd.nn import Activation, Linear, Module, Sequential
from micrograd.optim import Adam

SIZE, HEADS, HIDDEN, BLOCK = 16, 4, 64, 16  # numbers in x, heads, neurons of the MLP, positions
HEAD_SIZE = SIZE // HEADS
LONGEST = BLOCK - 1  # letters in a name, since END takes the first position
EPSILON = 1e-5
LR, BETAS = 0.01, (0.85, 0.99)
RECENT = 100  # the loss of one name says little, so the mean of the last ones is shown

NAMES = """
    aaron abel adam adrian agatha alex alice amanda amber amelia amos amy andrea andrew angela
    anita anna april ariel arthur astrid barbara basil beatrice benjamin bernard bianca brenda
    brian carmen caroline cecilia celia cesar clara claudia conrad cora dahlia david deborah dennis
    diana edgar edith edmund elena elias elisa eloise elsa elvira emil emily emma eugene eva fabian
    felix fiona flora frances frederick frida gabriel george gerald gilbert grace greta gustav
    harold harriet harvey hector hedwig helen henry hugo ines irene iris irma isaac isabel jacob
    jasmine jenny jerome joel jonas josephine joy julia julian juliet karen karl katherine keith
    kevin klara kurt lara laura lena leo lilian linda louis louise lucas lucia ludwig lydia mabel
    magnus marco maria marian mario marta martin matilda maurice max michael milo mira miranda
    monica nadia nancy naomi nicholas nina noah nora norman olga oliver olivia oscar otto patricia
    patrick paul paula penelope philip phoebe quincy rachel ralph regina rex richard rita robert
    robin roland roman rosa rosalind rudolf rufus sabina sally samuel sandra sara sebastian selma
    serena simon sofia teresa theodore thomas tim ulrich valentin valerie vera victor victoria
    vincent viola violet vivian walter wanda william willow winona xavier yolanda zachary zelda zoe
"""


class GPT(Module):
    """The model: its matrices, and the computation at each position.

    A memory is a list with a key and a value, each of 16 Values, for each position read so far.
    """

    def __init__(self, tokens):
        self.token_table = _table(tokens)
        self.position_table = _table(BLOCK)
        self.query = Linear(SIZE, SIZE, bias=False)
        self.key = Linear(SIZE, SIZE, bias=False)
        self.value = Linear(SIZE, SIZE, bias=False)
        self.projection = Linear(SIZE, SIZE, bias=False)
        self.mlp = Sequential(
            Linear(SIZE, HIDDEN, bias=False),
            Activation("relu"),
            Linear(HIDDEN, SIZE, bias=False),
        )
        self.output = Linear(SIZE, tokens, bias=False)
        for name, p in self.named_parameters():
            p.label = name

    def __call__(self, token, memory):
        """The logits of the token that follows; adds a key and a value to the memory."""
        position = len(memory)
        x = self.embedding(token, position)
        x = added(x, self.attention(norm(x), memory))
        x = added(x, self.mlp(norm(x)))
        return self.output(x)

    def embedding(self, token, position):
        """The sum of the vector of a token and that of a position."""
        return added(take(self.token_table, token), self.position_table[position])

    def attention(self, x, memory):
        """The output of attention at the latest position x, from it and the positions before."""
        query = [q * HEAD_SIZE**-0.5 for q in self.query(x)]
        memory.append((self.key(x), self.value(x)))
        heads = []
        for start in range(0, SIZE, HEAD_SIZE):
            head = slice(start, start + HEAD_SIZE)
            weights = softmax([dot(query[head], key[head]) for key, _ in memory])
            values = zip(*(value[head] for _, value in memory), strict=True)
            heads += [dot(weights, numbers) for numbers in values]
        return self.projection(heads)

    def logits(self, tokens):
        """The logits at each position."""
        memory: list[Any] = []
        return [self(token, memory) for token in tokens]

    def loss(self, tokens, targets, weights=None):
        """The mean cross-entropy over positions; targets[p] is the token that follows tokens[p].

        `weights` has the weight of each position, by default 1 / their number.
        """
        weights = weights or [1 / len(tokens)] * len(tokens)
        triples = zip(self.logits(tokens), targets, weights, strict=True)
        return sum(w * cross_entropy(logits, target) for logits, target, w in triples)


def _table(rows):
    return [[Value(random.gauss(0, 0.1)) for _ in range(SIZE)] for _ in range(rows)]


def added(a, b):
    """The sum of two vectors."""
    return [ai + bi for ai, bi in zip(a, b, strict=True)]


def dot(a, b):
    """The sum of the products of two vectors, number by number."""
    return sum(ai * bi for ai, bi in zip(a, b, strict=True))


def norm(x):
    """A vector scaled to a mean square of about 1, so the size of x does not affect branches."""
    scale = 1 / (dot(x, x) / len(x) + EPSILON).sqrt()
    return [scale * xi for xi in x]


def softmax(scores):
    """Positive weights with a sum of 1.

        w_j = e^(z_j - m) / sum_k e^(z_k - m)

    The largest score m keeps the exponentials from overflowing. It cancels, so it is a constant.
    """
    m = reduce(Value.maximum, scores).detach()
    exponentials = [(z - m).exp() for z in scores]
    total = sum(exponentials)
    return [e / total for e in exponentials]


def eager_backward(model):
    """A function that adds the gradients of an example to the parameters and returns its loss."""

    def backward(tokens, targets):
        loss = model.loss(tokens, targets)
        loss.backward()
        return loss.data

    return backward


def compiled_backward(model, length):
    """The same function with a compiled loss, for names of up to this many tokens.

    Shorter names are padded: a position behind the end has weight 0, and no earlier position looks
    at it. So all names have one shape, and the loss is compiled once.
    """
    compiled = micrograd.compile(model.loss)

    def backward(tokens, targets):
        n = len(tokens)
        padding = [targets[-1]] * (length - n)
        weights = np.repeat([1 / n, 0.0], [n, length - n])
        batch = compiled([tokens + padding], [targets + padding], weights[None])
        batch.backward()
        return batch.data

    return backward


def train(model, examples, steps, backward):
    """Takes a step for each example, over and over; returns the losses, fewer after Ctrl-C."""
    optimizer = Adam(model.parameters(), lr=LR, betas=BETAS)
    losses = []
    try:
        for step in (bar := tqdm(range(steps), unit="name")):
            optimizer.lr = LR * (1 - step / steps)
            optimizer.zero_grad()
            loss = backward(*examples[step % len(examples)])
            optimizer.step()
            losses.append(loss)
            bar.set_postfix_str(f"loss {fmean(losses[-RECENT:]):.3f}", refresh=False)
    except KeyboardInterrupt:
        print(f"\nstopped after {len(losses)} steps", file=sys.stderr)
    return losses


def example(name, letters):
    """The tokens of a name, and the token that follows each; END is token len(letters)."""
    end = len(letters)
    codes = [letters.index(letter) for letter in name]
    return [end, *codes], [*codes, end]


@no_grad()
def invented(model, letters, temperature, rng):
    """A new name; each token is drawn with its probability from softmax(logits / temperature)."""
    end = token = len(letters)
    name = ""
    memory: list[Any] = []
    while len(name) < LONGEST:
        logits = model(token, memory)
        if not name:
            logits = logits[:end]  # a name has at least one letter
        weights = [w.data for w in softmax([z / temperature for z in logits])]
        [token] = rng.choices(range(len(weights)), weights)
        if token == end:
            break
        name += letters[token]
    return name


def read_names(path):
    """The names in a text file, one on each line, in lower case; any character counts as a letter.

    Raises:
        ValueError: the file cannot be read, is not in UTF-8, has no names, or a name is too long.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: save it in this encoding") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    names = []
    for number, line in enumerate(text.split("\n"), 1):
        # A letter with an accent may be one character or two; NFC makes it one if possible.
        name = unicodedata.normalize("NFC", line.strip().lower())
        if len(name) > LONGEST:
            raise ValueError(
                f"{path}, line {number}: expected a name of at most {LONGEST} letters, got "
                f"{len(name)}, {name!r:.40}: shorten it or leave it out"
            )
        if name:
            names.append(name)
    if not names:
        raise ValueError(f"{path} has no names: expected one on each line")
    return names


def main():
    """Reads the arguments, trains, and invents names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--input", metavar="FILE", help="names, one on each line (200 common names)")
    add("--steps", type=int, default=1000, metavar="N", help="training steps, one name each (1000)")
    add("--samples", type=int, default=20, metavar="N", help="names to invent (20)")
    add("--temperature", type=float, default=0.5, metavar="T", help="low: likely, high: wild (0.5)")
    add("--seed", type=int, default=0, help="seed for weights and names (0)")
    add("--page", metavar="FILE", help="write a page that shows every number of the model")
    add("--eager", action="store_true", help="train without the compiler")
    options = parser.parse_args()
    try:  # report wrong arguments before training
        for option, number in (("steps", options.steps), ("samples", options.samples)):
            if number < 0:
                raise ValueError(f"expected --{option} of at least 0, got {number}")
        if not 0.01 <= options.temperature <= 100:
            raise ValueError(f"expected --temperature from 0.01 to 100, got {options.temperature}")
        names = NAMES.split() if options.input is None else read_names(options.input)
    except ValueError as error:
        parser.error(str(error))

    random.seed(options.seed)
    letters = sorted(set("".join(names)))
    model = GPT(tokens=len(letters) + 1)
    print(f"names: {len(names):,}, letters: {len(letters)}, "
          f"parameters: {len(model.parameters()):,}")  # fmt: skip
    untrained = [p.data for p in model.parameters()]
    shuffled = random.sample(names, len(names))
    examples = [example(name, letters) for name in shuffled]
    if options.eager:
        gc.disable()  # its search for cycles would double the time, and the graphs have none
    longest = max(len(tokens) for tokens, _ in examples)
    backward = eager_backward(model) if options.eager else compiled_backward(model, longest)
    losses = train(model, examples, options.steps, backward)

    if losses:
        print(f"loss {fmean(losses[-RECENT:]):.3f}, by guessing {math.log(len(letters) + 1):.3f}")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may lack a letter
        sys.stdout.reconfigure(errors="replace")
    rng = random.Random(options.seed)
    for _ in range(options.samples):
        name = invented(model, letters, options.temperature, rng)
        print(f"  {name}  (in the list)" if name in names else f"  {name}")

    if options.page:
        page = micrograd.microscope(
            model, [*letters, "·"], shuffled, optimizer=Adam(model.parameters(), LR, BETAS),
            untrained=untrained, title="A small GPT under the microscope",
        )  # fmt: skip
        print(f"wrote {page.save(options.page)}")


if __name__ == "__main__":
    main()
