"""with_fastmcp.py sse: FastMCP, which serves HTTP+SSE as `transport="sse"` does, on PORT."""

import os
import sys

import anyio
from fastmcp import Context, FastMCP
from fixtures import COUNTER, QUESTION, Name, reply, serve_http

server = FastMCP("interop-fastmcp", version="1.0.0")
touches = 0


@server.tool
def echo(message: str) -> str:
    if "ECHOES" in os.environ:
        with open(os.environ["ECHOES"], "a") as echoes:
            echoes.write(message + "\n")
    return message


@server.tool
async def progress(context: Context) -> str:
    for done in range(1, 4):
        await context.report_progress(done, 3)
    await anyio.sleep(0.05)
    return "done"


@server.tool
async def wait() -> str:
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        print("cancelled", file=sys.stderr, flush=True)
        raise
    return "waited"


@server.tool
async def ask(context: Context) -> str:
    return reply(await context.elicit(QUESTION, Name))


@server.tool
async def touch(context: Context) -> str:
    global touches
    touches += 1
    server.tool(touched)
    return "touched"


def touched() -> str:
    return "touched"


@server.resource(COUNTER, name="counter", mime_type="text/plain")
def counter() -> str:
    return str(touches)


@server.prompt
def greet(name: str) -> str:
    return f"Greet {name}"


serve_http(server.http_app(transport="sse", path="/sse"), "/sse")
