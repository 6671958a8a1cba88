"""How a Python client is started, reports its steps, waits, and fails."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

DEADLINE_SECONDS = 30


@dataclass
class Server:
    """What is tried: a URL, or a command to spawn."""

    words: list[str]

    @property
    def url(self) -> str | None:
        return self.words[0] if self.words[0].startswith("http:") else None

    @property
    def command(self) -> dict[str, Any]:
        return {"command": self.words[0], "args": self.words[1:]}


def run(main: Callable[..., Awaitable[None]]) -> None:
    """Calls `main` with the words before the `--` of the command line, and the server after it."""
    words = sys.argv[1:]
    end = words.index("--")
    try:
        anyio.run(_within_deadline, main, *words[:end], Server(words[end + 1 :]))
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
