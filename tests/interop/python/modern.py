"""client.py MODE -- COMMAND...: the Python SDK's client, which speaks both eras."""

import sys
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import INVALID_PARAMS, SERVER_INFO_META_KEY, CallToolResult, TextContent

# What `Client(mode=)` is given, and the protocol version that must come of it.
MODES = {
    "legacy": ("legacy", "2025-11-25"),
    "auto": ("auto", "2026-07-28"),
    "pinned": ("2026-07-28", "2026-07-28"),
}
TOOLS = {"echo", "test_error_handling", "test_tool_with_progress", "wait"}
DEADLINE_SECONDS = 30


async def main(name: str, separator: str, command: str, *args: str) -> None:
    assert separator == "--", "usage: client.py MODE -- COMMAND..."
    mode, version = MODES[name]
    with anyio.fail_after(DEADLINE_SECONDS):
        server = StdioServerParameters(command=command, args=list(args))
        async with Client(server, mode=mode) as client:
            ok("connect")
            await take_steps(client, version)
    ok("close")


async def take_steps(client: Client, version: str) -> None:
    expect(client.protocol_version, version)
    ok("protocol version")

    expect(await server_name(client), "everything")
    ok("server name")

    expect(TOOLS - await tool_names(client), set())
    ok("list tools")

    await echo(client, "hello, ✓ wörld")
    ok("echo")

    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
    expect(seen, [0, 50, 100])
    ok("progress")

    failed = await client.call_tool("test_error_handling", {})
    expect(failed.is_error, True)
    expect(texts(failed), ["This tool intentionally returns an error for testing"])
    ok("tool error")

    try:
        result: Any = await client.call_tool("no_such_tool", {})
    except MCPError as error:
        result = error.code
    expect(result, INVALID_PARAMS)
    ok("unknown tool")

    with anyio.move_on_after(0.2) as waiting:
        await client.call_tool("wait", {"seconds": 30})
    expect(waiting.cancelled_caught, True)
    ok("cancel")

    await echo(client, "still here")
    ok("echo after cancel")


async def server_name(client: Client) -> str | None:
    if client.server_info:
        return client.server_info.name
    # A pinned client asks for no introduction, but the server signs each of its results.
    page = await client.list_tools()
    return (page.meta or {}).get(SERVER_INFO_META_KEY, {}).get("name")


async def tool_names(client: Client) -> set[str]:
    page = await client.list_tools()
    names = {tool.name for tool in page.tools}
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        names |= {tool.name for tool in page.tools}
    return names


async def echo(client: Client, message: str) -> None:
    expect(texts(await client.call_tool("echo", {"message": message})), [message])


def texts(result: CallToolResult) -> list[str | None]:
    return [item.text if isinstance(item, TextContent) else None for item in result.content]


def expect(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f"got {actual!r}, not {expected!r}")


def ok(step: str) -> None:
    print("ok", step, flush=True)


def causes(error: BaseException) -> list[BaseException]:
    """What went wrong, out of the groups that the SDK's task groups wrap it in."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [cause for inner in error.exceptions for cause in causes(inner)]


try:
    anyio.run(main, *sys.argv[1:])
except Exception as error:
    sys.exit("\n".join(f"FAILED: {cause!r}" for cause in causes(error)))
