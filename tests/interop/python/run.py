"""How a Python client is started, reports its steps, waits, and fails."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

DEADLINE_SECONDS = 30


def run(main: Callable[..., Awaitable[None]]) -> None:
    """Calls `main` with what stands before the `--`, the server's command, and the server's arguments."""
    words = sys.argv[1:]
    end = words.index("--")
    try:
        anyio.run(_within_deadline, main, *words[:end], words[end + 1], words[end + 2 :])
    except Exception as error:
        sys.exit("\n".join(f"FAILED: {cause!r}" for cause in _causes(error)))


async def _within_deadline(main: Callable[..., Awaitable[None]], *words: Any) -> None:
    with anyio.fail_after(DEADLINE_SECONDS):
        await main(*words)


def _causes(error: BaseException) -> list[BaseException]:
    """What went wrong, out of the groups that the SDK's task groups wrap it in."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [cause for inner in error.exceptions for cause in _causes(inner)]


def ok(step: str) -> None:
    print("ok", step, flush=True)


def expect(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f"got {actual!r}, not {expected!r}")


def expect_in(part: Any, whole: Any) -> None:
    if part not in whole:
        raise AssertionError(f"no {part!r} in {whole!r}")


async def until(is_true: Callable[[], bool]) -> None:
    """Waits for what a notification will make true; the deadline ends a wait in vain."""
    while not is_true():
        await anyio.sleep(0.01)
