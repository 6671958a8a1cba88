"""dual.py [sessions|stateless|json|sse]: mcp 2, which speaks both eras. With an argument it serves over
HTTP, on PORT."""

from typing import Annotated, Any

from fixtures import COUNTER, QUESTION, Name, offer_fixtures, reply, serve
from mcp import types
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve

server = MCPServer("interop-python-dual", version="1.0.0", log_level="ERROR")
subscribed: set[str] = set()


async def tell_of_touch(context: Context) -> None:
    # The first two reach the subscriptions of the modern era, the others the legacy era.
    await context.notify_resource_updated(COUNTER)
    await context.notify_tools_changed()
    if COUNTER in subscribed:
        await context.session.send_resource_updated(COUNTER)
    await context.session.send_tool_list_changed()


offer_fixtures(server, tell_of_touch)


def ask_for_name() -> Elicit[Name]:
    return Elicit(QUESTION, Name)


@server.tool()
def ask(answer: Annotated[ElicitationResult[Name], Resolve(ask_for_name)]) -> str:
    return reply(answer)


async def subscribe(_: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscribed.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(_: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscribed.discard(params.uri)
    return types.EmptyResult()


# The legacy subscriptions are in the server below, which is private.
lowlevel = server._lowlevel_server
lowlevel.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
lowlevel.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
serve(lowlevel, lambda options: server.streamable_http_app(**options), server.sse_app)
