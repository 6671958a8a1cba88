"""The steps that every Python client takes over HTTP alone.

The words about cuts and expiry are for `../http/observe.mjs`, which stands between client and server.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
from host import Host
from run import expect, ok, until
from steps import WATCHED, Sdk, call_with_progress, echo, error_code, text_of

CONNECTION_CLOSED = -32000
"""What the SDK makes of a stream that ends without an answer."""
LATE_ANSWER = "Error parsing JSON response: ClosedResourceError"
"""What `mcp` 1 logs of an answer that comes after its own end, however well formed."""

Connect = Callable[[Host], AbstractAsyncContextManager[Sdk]]


async def take_http_steps(
    connect: Connect, crowd: list[Connect], session_expired: int, faults: list[str]
) -> None:
    """`crowd` connect all at once, `session_expired` is the code of that error, `faults` are a host's."""
    async with connect(Host()) as sdk:
        is_legacy = sdk.is_legacy

    if is_legacy:
        await be_sent_away(connect)
        await be_cut(connect)
        await miss_update(connect)
        await expire(connect, session_expired)
    else:
        await lose_call(connect)
    await meet_all(crowd * 2)
    await close_busy(connect, faults)
    async with connect(Host()) as sdk:
        await echo(sdk, "still here")
    ok("connect after all")
    # At its end a client ends its session, even one that has expired.
    expect(faults, ["Session termination failed: 404"] if is_legacy else [])
    ok("no other faults")


async def be_sent_away(connect: Connect) -> None:
    async with connect(Host()) as sdk:
        answer = await sdk.call_tool("test_reconnection", {})
        expect(text_of(answer), "Reconnection test completed")
    ok("stream closed by the server, and resumed")


async def be_cut(connect: Connect) -> None:
    async with connect(Host()) as sdk:
        await call_with_progress(sdk, {"note": "cut me"})
    ok("stream cut, and resumed")


async def miss_update(connect: Connect) -> None:
    host = Host()
    async with connect(host) as sdk, sdk.watch(WATCHED):
        await sdk.call_tool("test_trigger_resource_update", {})
        await until(lambda: host.changes == [WATCHED])
        await echo(sdk, "cut the other stream")
        await sdk.call_tool("test_trigger_resource_update", {})
        await until(lambda: host.changes == [WATCHED, WATCHED])
    ok("stream of updates cut, and resumed")


async def lose_call(connect: Connect) -> None:
    """In the modern era what is cut is lost, and nothing else is."""
    async with connect(Host()) as sdk:
        expect(await error_code(sdk, call_with_progress(sdk, {"note": "cut me"})), CONNECTION_CLOSED)
        await echo(sdk, "still here")
    ok("stream cut")


async def expire(connect: Connect, expected: int) -> None:
    async with connect(Host()) as sdk:
        expect(await error_code(sdk, echo(sdk, "expire me")), expected)
    ok("session expired")


async def meet_all(crowd: list[Connect]) -> None:
    """All of them give their requests the same ids, and none gets what is another's."""
    connected = 0

    async def converse(connect: Connect, number: int) -> None:
        nonlocal connected
        host = Host()
        async with connect(host) as sdk:
            connected += 1
            await until(lambda: connected == len(crowd))
            async with anyio.create_task_group() as calls:
                for count in range(5):
                    calls.start_soon(echo, sdk, f"{count} of client {number}")
                calls.start_soon(call_with_progress, sdk, {})
                calls.start_soon(be_asked, sdk, host)

    async with anyio.create_task_group() as clients:
        for number, connect in enumerate(crowd):
            clients.start_soon(converse, connect, number)
    ok("many at once")


async def be_asked(sdk: Sdk, host: Host) -> None:
    answer = await sdk.call_tool("test_input_required_result_elicitation", {})
    expect(text_of(answer), "Hello, my name!")
    expect(host.asked, ["elicitation/create"])


async def close_busy(connect: Connect, faults: list[str]) -> None:
    answers = []
    before = len(faults)

    async def wait(sdk: Sdk) -> None:
        try:
            answers.append(await sdk.call_tool("wait", {"seconds": 20}))
        except sdk.Error:
            pass

    async with anyio.create_task_group() as calls:
        try:
            async with connect(Host()) as sdk:
                calls.start_soon(wait, sdk)
                await anyio.sleep(0.2)
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # That the session has ended may be told on the connection of the call before it is on
            # that of the DELETE; the SDKs then hand it to where nobody listens any more.
            pass
        calls.cancel_scope.cancel()
    expect(answers, [])
    # The call of the ended session is answered with an error, which may reach the SDK too late.
    expect([fault for fault in faults[before:] if fault != LATE_ANSWER], [])
    del faults[before:]
    ok("close while busy")
