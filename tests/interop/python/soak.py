"""soak.py NAME -- URL: mcp 2, for `tests/soak/run`, which says what the server offers.

Takes the same round again and again, in both eras, whatever happens, and tells on standard output of
each call and each whole round.
"""

import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count, cycle
from typing import Any

import anyio
from host import Host, wire
from mcp import Client
from run import expect, until

COUNTER = "test://counter"
CALL_SECONDS = 5
ROUND_SECONDS = 20
MODES = {"legacy": "legacy", "modern": "2026-07-28"}

keys = count()


async def main(name: str, url: str) -> None:
    for era in cycle(MODES):
        try:
            with anyio.fail_after(ROUND_SECONDS):
                await take_round(name, url, era)
            print("round", era, flush=True)
        except Exception:
            await anyio.sleep(0.2)  # What was wrong is told by the call.


async def take_round(name: str, url: str, era: str) -> None:
    host = Host()
    print("called", flush=True)
    connected = False
    try:
        async with Client(
            url, mode=MODES[era], elicitation_callback=host.elicit, message_handler=host.notice
        ) as client:
            connected = True
            print("completed", flush=True)
            await take_steps(client, host, name, era)
    finally:
        if not connected:
            print("failed to connect", flush=True)


async def take_steps(client: Client, host: Host, name: str, era: str) -> None:
    async def call(tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
        result = await told(lambda: client.call_tool(tool, arguments or {}, **options))
        return wire(result)["content"][0]["text"]

    for _ in range(5):
        message = f"{name}.{next(keys)}"
        expect(await call("echo", {"message": message}), message)
    steps: list[float] = []

    async def seen(progress: float, *_: Any) -> None:
        steps.append(progress)

    expect(await call("progress", progress_callback=seen), "done")
    expect(len(steps) > 0, True)
    expect(await call("ask"), "hello my name")
    with anyio.move_on_after(0.1):
        await client.call_tool("wait", {})
    async with watch(client, era):
        await call("touch")

        async def changed() -> None:
            await until(lambda: COUNTER in host.changes)

        await told(changed)


@asynccontextmanager
async def watch(client: Client, era: str) -> AsyncIterator[None]:
    if era == "legacy":
        await told(lambda: client.subscribe_resource(COUNTER))
        yield
    else:
        async with client.listen(resource_subscriptions=[COUNTER]):
            yield


async def told(call: Callable[[], Awaitable[Any]]) -> Any:
    """Tells of a call and its end."""
    print("called", flush=True)
    try:
        with anyio.fail_after(CALL_SECONDS):
            result = await call()
    except Exception as error:
        print("failed", repr(error)[:60].replace("\n", " "), flush=True)
        raise
    print("completed", flush=True)
    return result


words = sys.argv[1:]
logging.disable(logging.CRITICAL)
anyio.run(main, words[0], words[2])
