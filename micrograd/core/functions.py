"""Further functions of any kind of number, under the names that NumPy has for them."""

import math

from micrograd.core.arithmetic import Number, OfTwo, function_of

OTHERS = math.tan, math.sinh, math.cosh, math.erf, math.expm1, math.log1p
tan, sinh, cosh, erf, expm1, log1p = (function_of(f.__name__, f) for f in OTHERS)
INVERSE = {"arcsin": math.asin, "arccos": math.acos, "arctan": math.atan}
arcsin, arccos, arctan = (function_of(name, f) for name, f in INVERSE.items())


def _function_of_two(name: str, of_floats: OfTwo) -> OfTwo:
    def function(x: Number, y: Number) -> Number:
        if isinstance(x, (float, int)) and isinstance(y, (float, int)):
            return of_floats(x, y)
        for number in (x, x * y**0):  # y ** 0 is a 1 of y's kind, so the product is x of y's kind
            if callable(method := getattr(number, name, None)):
                found = method(y)
                if found is not NotImplemented:
                    return found
        raise TypeError(f"{name} is not defined for {x!r} and {y!r}: convert them with float()")

    return function


def _logaddexp(x: float, y: float) -> float:
    if x == y:  # also two infinities, whose difference is not defined
        return x + math.log(2)
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


arctan2 = _function_of_two("arctan2", math.atan2)
logaddexp = _function_of_two("logaddexp", _logaddexp)
