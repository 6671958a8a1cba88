"""legacy.py [sessions|stateless|json|sse]: mcp 1, which knows the legacy era only. With an argument it
serves over HTTP, on PORT."""

from typing import Any

from fixtures import COUNTER, QUESTION, Name, offer_fixtures, reply, serve
from mcp.server.fastmcp import Context, FastMCP
from pydantic import AnyUrl

server = FastMCP("interop-python-legacy", log_level="ERROR")
subscribed: set[str] = set()


async def tell_of_touch(context: Context) -> None:
    if COUNTER in subscribed:
        await context.session.send_resource_updated(AnyUrl(COUNTER))
    await context.session.send_tool_list_changed()


offer_fixtures(server, tell_of_touch)


@server.tool()
async def ask(context: Context) -> str:
    return reply(await context.elicit(QUESTION, Name))


# The version and the subscriptions are in the server below, which is private.
lowlevel = server._mcp_server
lowlevel.version = "1.0.0"


@lowlevel.subscribe_resource()
async def subscribe(uri: AnyUrl) -> None:
    subscribed.add(str(uri))


@lowlevel.unsubscribe_resource()
async def unsubscribe(uri: AnyUrl) -> None:
    subscribed.discard(str(uri))



def app_of(options: dict[str, bool]) -> Any:
    for option, value in options.items():
        setattr(server.settings, option, value)
    return server.streamable_http_app()


serve(lowlevel, app_of, server.sse_app)
