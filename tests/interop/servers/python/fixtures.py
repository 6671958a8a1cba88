"""What both servers offer. The SDKs register it with the same words."""

import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import uvicorn
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
        if "ECHOES" in os.environ:
            with open(os.environ["ECHOES"], "a") as echoes:
                echoes.write(message + "\n")
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


def serve(server: Server, app_of: Callable[[dict[str, bool]], Any], sse_app: Callable[[], Any]) -> None:
    """Serves on stdio, or over HTTP what `app_of` makes of the options, or over HTTP+SSE, but declares
    what it tells of."""
    create = server.create_initialization_options

    def declare(*_: Any, **__: Any) -> Any:
        options = create(NotificationOptions(tools_changed=True))
        options.capabilities.resources.subscribe = True  # mcp 1 never declares it.
        return options

    server.create_initialization_options = declare
    if sys.argv[1:] == ["sse"]:
        serve_http(sse_app(), "/sse")
    elif len(sys.argv) > 1:
        serve_http(app_of({"stateless_http": sys.argv[1] == "stateless", "json_response": sys.argv[1] == "json"}))
    else:
        anyio.run(serve_stdio, server)


async def serve_stdio(server: Server) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(app: Any, path: str = "/mcp") -> None:
    listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])), reuse_port=False)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}{path}", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([listener])
