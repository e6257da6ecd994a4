"""What to write instead of a name that is in another module, or only in another package."""

import sys
from collections.abc import Callable
from typing import NoReturn

HINTS = {
    "blobs circles moons spirals": "import it from micrograd.datasets",
    "hinge squared_error cross_entropy binary_cross_entropy binary_cross_entropy_with_logits": (
        "import it from micrograd.losses"
    ),
    "Optimizer clip_grad_norm": "import it from micrograd.optim",
    "Parameter ReLU Tanh Sigmoid Activation accuracy": "import it from micrograd.nn",
    "animate decision_boundary loss_curve": "import it from micrograd.plot",
    "tensor Tensor Vector Matrix array zeros ones randn": "use values(...), an array of Values",
    "Scalar Variable": "use Value",
    "topological_sort build_topo": "use topological_order(root)",
    "trace draw_graph": "use draw_dot(root)",
    "grad": "use gradient(f, xs), or call backward() and read .grad",
    "manual_seed": "use random.seed(...): parameters start from Python's random numbers",
    "confusion confusion_matrix": "use collections.Counter(zip(labels, guesses))",
    "DataLoader": "use micrograd.datasets.batches(X, y, size)",
    "MSELoss mse_loss HingeLoss BCELoss BCEWithLogitsLoss CrossEntropyLoss NLLLoss": (
        "use the functions of micrograd.losses"
    ),
    "functional relu tanh sigmoid exp log sqrt sin cos softmax": (
        "use a method of a Value or an array, as in x.relu()"
    ),
    "ModuleList ModuleDict ParameterList": (
        "use a list or a dict: a Module finds the Values and Modules in it"
    ),
    "Dropout BatchNorm1d LayerNorm Conv2d RNN": (
        "write it: a class with a method forward, derived from micrograd.Module"
    ),
    "Embedding": "use take(table, index) with table = values(...)",
    "RMSprop Adagrad": "use micrograd.optim.Adam, or SGD with momentum",
    "lr_scheduler StepLR CosineAnnealingLR cosine linear": (
        "set optimizer.lr in each step, as in optimizer.lr = 0.1 * (1 - step / 100)"
    ),
}
_hint_for = {name: hint for names, hint in HINTS.items() for name in names.split()}


def hinted(module: str) -> Callable[..., NoReturn]:
    """The `__getattr__` of a module: an error that says what to write instead of a name."""

    def unknown(name: str, frames: int = 1) -> NoReturn:
        error = f"module {module!r} has no attribute {name!r}"
        if name not in _hint_for:
            raise AttributeError(error, name=name, obj=sys.modules[module])
        from opcode import opmap

        error, caller = f"{error}: {_hint_for[name]}", sys._getframe(frames)
        if caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]:
            raise ImportError(error)  # `from ... import` would hide an AttributeError
        raise AttributeError(error)

    return unknown
