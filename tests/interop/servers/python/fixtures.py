"""What both servers offer. The SDKs register it with the same words."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

try:
    from mcp.server.mcpserver import Context
except ImportError:
    from mcp.server.fastmcp import Context

COUNTER = "test://counter"
QUESTION = "What is your name?"


class Name(BaseModel):
    name: str


def offer_fixtures(server: Any, tell_of_touch: Callable[[Context], Awaitable[None]]) -> None:
    """`tell_of_touch` sends that the counter is updated and that the list of tools has changed."""
    touches = 0

    @server.tool()
    def echo(message: str) -> str:
        return message

    @server.tool()
    async def progress(context: Context) -> str:
        for done in range(1, 4):
            await context.report_progress(done, 3)
        await anyio.sleep(0.05)
        return "done"

    @server.tool()
    async def wait() -> str:
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            print("cancelled", file=sys.stderr, flush=True)
            raise
        return "waited"

    @server.tool()
    async def touch(context: Context) -> str:
        nonlocal touches
        touches += 1
        server.add_tool(touched)
        await tell_of_touch(context)
        return "touched"

    def touched() -> str:
        return "touched"

    @server.resource(COUNTER, name="counter", mime_type="text/plain")
    def counter() -> str:
        return str(touches)

    @server.prompt()
    def greet(name: str) -> str:
        return f"Greet {name}"


def reply(answer: Any) -> str:
    """What the tool `ask` says to an answer."""
    if answer.action == "accept":
        return f"hello {answer.data.name}"
    return {"decline": "declined", "cancel": "cancelled"}[answer.action]


def serve(server: Server) -> None:
    """Serves on stdio as the SDKs' own `run` does, but declares what it tells of."""

    async def converse() -> None:
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        options.capabilities.resources.subscribe = True  # mcp 1 never declares it.
        async with stdio_server() as (read, write):
            await server.run(read, write, options)

    anyio.run(converse)
