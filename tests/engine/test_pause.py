"""no_grad pauses its own code only: no other thread, no other task, no caller."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from micrograd.engine import Value, no_grad


def is_recording():
    x = Value(2.0)
    return (x * x)._prev == (x, x)


def test_blocks_nest_and_end_with_an_error():
    with no_grad():
        with no_grad():
            assert not is_recording()
        assert not is_recording()
    assert is_recording()
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert is_recording()


def test_one_object_can_be_entered_again():
    paused = no_grad()
    for _ in range(2):
        with paused:
            with paused:
                assert not is_recording()
            assert not is_recording()
        assert is_recording()


def test_a_thread_is_not_paused_by_another():
    seen = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_recording()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_task_is_not_paused_by_another():
    async def evaluate():
        with no_grad():
            seen = [is_recording()]
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append(is_recording())
        return [*seen, not is_recording()]

    async def train():
        seen = []
        for _ in range(4):
            seen.append(is_recording())
            await asyncio.sleep(0)
        return seen

    async def everything():
        return await asyncio.gather(evaluate(), train(), evaluate(), train())

    with ThreadPoolExecutor(1) as executor:  # this thread may already have a loop
        found = executor.submit(asyncio.run, everything()).result()
    assert found == [[False] * 5, [True] * 4] * 2


def test_a_decorated_function_is_paused_and_keeps_its_name():
    @no_grad()
    def evaluate(x, *, times=1):
        """Words."""
        return is_recording(), x * times

    assert evaluate(2.0, times=3) == (False, 6.0)
    assert (evaluate.__name__, evaluate.__doc__) == ("evaluate", "Words.")
    assert is_recording()


def test_what_runs_in_several_parts_is_refused():
    def generator():
        yield

    async def coroutine():
        pass

    async def generates():
        yield

    for function in (generator, coroutine, generates):
        with pytest.raises(TypeError, match=r"write `with no_grad\(\):` inside it"):
            no_grad()(function)
