"""no_grad pauses its own code only: no other thread, no other task, no caller."""

import asyncio
import gc
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from micrograd.engine import Value, no_grad
from micrograd.pause import is_paused, open_blocks, resumed


def run(coroutine):
    """The result of a coroutine, run in another thread: this one may already have a loop."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()


@pytest.fixture(autouse=True)
def nothing_stays_paused():
    yield
    gc.collect()
    assert not open_blocks
    assert not is_paused()


def is_recording():
    x = Value(2.0)
    return (x * x)._prev == (x, x)


def test_blocks_nest_and_end_with_an_error():
    with no_grad():
        with no_grad():
            assert not is_recording()
        assert not is_recording()
        with resumed():
            assert is_recording()
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


def test_a_decorated_generator_is_paused_while_it_runs_and_its_caller_is_not():
    @no_grad()
    def generator(first):
        """Words."""
        seen = [first, is_recording()]
        try:
            while True:
                seen.append((yield is_recording()))
        except KeyError:
            seen.append(is_recording())
            yield "caught"
        finally:
            seen.append(is_recording())
            closed.append(seen)
        return "end"

    closed = []
    steps = generator("first")
    assert generator.__doc__ == "Words."
    assert (next(steps), is_recording()) == (False, True)
    assert (steps.send("sent"), is_recording()) == (False, True)
    assert (steps.throw(KeyError), is_recording()) == ("caught", True)
    with pytest.raises(StopIteration, match="end"):
        next(steps)
    assert closed.pop() == ["first", False, "sent", False, False]
    steps = generator("second")
    next(steps)
    steps.close()
    assert closed.pop() == ["second", False, False]
    steps = generator("third")
    next(steps)
    with pytest.raises(ValueError, match="from outside"):
        steps.throw(ValueError("from outside"))
    with pytest.raises(TypeError, match="argument"):
        generator()


def test_a_coroutine_is_paused_while_other_tasks_record():
    @no_grad()
    async def evaluate():
        seen = [is_recording()]
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(is_recording())
        return seen

    async def evaluate_in_a_block():
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
        found = await asyncio.gather(evaluate(), train(), evaluate_in_a_block(), train())
        return [*found, [is_recording()]]

    assert inspect.iscoroutinefunction(evaluate)
    paused, recording, in_a_block, also_recording, after = run(everything())
    assert paused == [False] * 4
    assert in_a_block == [False] * 5
    assert recording == also_recording == [True] * 4
    assert after == [True]


def test_a_coroutine_stepped_by_hand_leaves_its_caller_recording():
    @no_grad()
    async def evaluate():
        await asyncio.sleep(0)
        return is_recording()

    steps = evaluate()
    steps.send(None)
    assert is_recording()
    with pytest.raises(StopIteration, match="False"):
        steps.send(None)


def test_a_cancelled_coroutine_cleans_up_paused():
    seen = []

    @no_grad()
    async def forever():
        try:
            await asyncio.sleep(1000)
        finally:
            seen.append(is_recording())

    async def cancel():
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancel())
    assert seen == [False]


def test_an_asynchronous_generator_is_paused_while_it_runs_and_its_caller_is_not():
    closed = []

    @no_grad()
    async def generator():
        try:
            for _ in range(2):
                await asyncio.sleep(0)
                yield is_recording()
        except KeyError:
            yield "caught"
        finally:
            await asyncio.sleep(0)
            closed.append(is_recording())

    async def use():
        seen = [(paused, is_recording()) async for paused in generator()]
        steps = generator()
        seen.append((await anext(steps), is_recording()))
        await steps.aclose()
        steps = generator()
        await anext(steps)
        seen.append((await steps.athrow(KeyError), is_recording()))
        await steps.aclose()
        return seen

    assert run(use()) == [(False, True)] * 3 + [("caught", True)]
    assert closed == [False] * 3


def test_a_task_that_outlives_the_block_it_started_in_records_again():
    async def task(done):
        seen = [is_recording()]
        await done.wait()
        with no_grad():
            seen.append(is_recording())
        return [*seen, is_recording()]

    async def start():
        done = asyncio.Event()
        with no_grad():
            started = asyncio.create_task(task(done))
            await asyncio.sleep(0)
        done.set()
        with no_grad():  # another block, which must not affect the task
            return await started

    assert run(start()) == [False, False, True]


def test_a_tasks_own_block_outlives_an_inherited_one():
    outer = no_grad()
    outer.__enter__()
    inner, context = no_grad(), copy_context()
    context.run(inner.__enter__)
    outer.__exit__()
    assert context.run(is_paused)
    context.run(inner.__exit__)
    assert not context.run(is_paused)


def test_a_generator_closed_in_another_context_ends_its_block():
    def generator():
        with no_grad():
            yield

    steps = generator()
    copy_context().run(next, steps)
    steps.close()
    assert not open_blocks
