"""Training steps with JAX: a loop inside a compiled function, with the update in its body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from micrograd.compiler.run_jax import KEPT, JaxRun, sharded
from micrograd.compiler.update import Training

Array = npt.NDArray[Any]

ROWS = 64  # steps in a call with mini-batches: another number would be compiled again


class Steps(Training):
    """Steps on JAX; see `Training` for the arguments."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.largest = 2**62 if jax.process_count() == 1 else 0
        self._compiled = lru_cache(KEPT)(self._loop)

    def _steps(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, means: list[float]
    ) -> float | None:
        if order is not None:
            count = min(count, ROWS)
            order = np.resize(order[:count], (ROWS, n))
        with jax.enable_x64(True):
            loop = self._compiled(n, order is not None)
            state = self.row.data, self._states
            found = loop(count, self._numbers, state, arrays, order)
            (data, states), gradient, done, wrong, is_finite, losses = jax.tree.map(
                np.asarray, found
            )
            before = len(means), self.optimizer.steps

            def commit() -> None:
                self.row.data[...] = data
                if done or not wrong:
                    self.row.grad[...] = gradient
                for numbers, new in zip(self._states, states, strict=True):
                    numbers[...] = new
                self.count(before, done, losses, means)

            try:
                commit()
            except KeyboardInterrupt:  # no half update
                commit()
                raise
        if wrong:
            raise IndexError("take got an index that is out of range or not a whole number")
        return None if is_finite else losses.item(done.item())

    def _loop(self, n: int, in_order: bool) -> Any:
        program, rule, places = self.program, self.rule, self.places
        gradients_of, _, lanes = sharded(program.schedule, len(program.shapes), "float64", n)
        real = np.minimum(np.arange(lanes), n - 1)  # copies of the last example fill the lanes

        def examples(array: Any, order: Any, step: Any) -> Any:
            if not array.ndim:
                return jnp.full(lanes, array)
            return array[order[step][real] if in_order else real]

        def new_state(state: Any, gradient: Any, numbers: Any) -> tuple[Any, Any]:
            data, states = state
            run = JaxRun(rule.schedule, numbers)
            columns = jnp.stack([data, gradient, *states], axis=1)
            sums, results, _ = run.lanes([columns], len(data))
            [squares] = run.after(sums / len(data))
            data, *states = results.T
            return (data, states), jnp.isfinite(squares)

        def loop(count: Any, numbers: Any, state: Any, arrays: Any, order: Any) -> Any:
            def step(carry: Any) -> Any:
                state, last, done, _, _, losses = carry
                batch = [examples(array, order, done) for array in arrays]
                means, _ = gradients_of(state[0][places], *batch)
                gradient = jnp.zeros(len(state[0])).at[places].set(means[1 : 1 + len(places)])
                new, is_finite = new_state(state, gradient, numbers[done])
                losses, wrong = losses.at[done].set(means[0]), means[-1] > 0
                is_done = is_finite & ~wrong
                gradient = jnp.where(wrong, last, gradient)
                state = jax.tree.map(lambda a, b: jnp.where(is_done, a, b), new, state)
                return state, gradient, done + is_done, wrong, is_finite, losses

            start = state, jnp.zeros(len(state[0])), 0, False, True, jnp.zeros(len(numbers))
            return jax.lax.while_loop(lambda c: (c[2] < count) & ~c[3] & c[4], step, start)

        return jax.jit(loop)
