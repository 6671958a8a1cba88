"""v1.py -- URL | COMMAND...: mcp 1, which knows the legacy era only."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
from host import Host, wire
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client, types
from mcp.client.streamable_http import streamable_http_client
from over_http import take_http_steps
from pydantic import AnyUrl
from run import Server, expect, ok, run
from steps import Sdk, take_steps


SESSION_TERMINATED = 32600
"""This SDK's own, with this sign."""


async def main(server: Server) -> None:
    host = Host()
    async with connection(server, host) as sdk:
        ok("connect")
        await take_steps(sdk, host)
    ok("close")

    if server.url:
        connect = partial(connection, server)
        await take_http_steps(connect, [connect], SESSION_TERMINATED, host.faults)


@asynccontextmanager
async def connection(server: Server, host: Host) -> AsyncIterator[Sdk]:
    async with (
        transport(server) as (read, write, *_),
        ClientSession(
            read,
            write,
            elicitation_callback=host.elicit,
            sampling_callback=host.sample,
            list_roots_callback=host.list_roots,
            logging_callback=host.log,
            message_handler=host.notice,
        ) as session,
    ):
        introduction = await session.initialize()
        yield Legacy(session, introduction)


def transport(server: Server) -> AbstractAsyncContextManager[Any]:
    if server.url:
        return streamable_http_client(server.url)
    return stdio_client(StdioServerParameters(**server.command))


class Legacy:
    is_legacy = True
    Error = McpError

    def __init__(self, session: ClientSession, introduction: types.InitializeResult) -> None:
        self.session = session
        self.introduction = introduction
        self.protocol_version = introduction.protocolVersion

    async def server_info(self) -> dict[str, Any]:
        return wire(self.introduction.serverInfo)

    async def list_page(self, what: str, cursor: str | None) -> dict[str, Any]:
        page = types.PaginatedRequestParams(cursor=cursor)
        return wire(await getattr(self.session, f"list_{what}")(params=page))

    async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        return wire(await self.session.call_tool(name, arguments, **options))

    async def call_tool_logging(self, name: str, level: types.LoggingLevel) -> None:
        await self.session.set_logging_level(level)
        await self.session.call_tool(name)

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return wire(await self.session.read_resource(AnyUrl(uri)))

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        return wire(await self.session.get_prompt(name, arguments))

    async def complete(self, ref: dict[str, str], argument: dict[str, str]) -> dict[str, Any]:
        kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
        return wire(await self.session.complete(kinds[ref["type"]](**ref), argument))

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[None]:
        await self.session.subscribe_resource(AnyUrl(uri))
        yield
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def cancel(self, name: str, arguments: dict[str, Any]) -> None:
        # This SDK abandons a call without a word to the server, and keeps the ids of its requests to
        # itself: the next one is in a private field.
        request_id = self.session._request_id
        with anyio.move_on_after(0.2) as waiting:
            await self.session.call_tool(name, arguments)
        expect(waiting.cancelled_caught, True)
        params = types.CancelledNotificationParams(requestId=request_id, reason="changed my mind")
        cancelled = types.CancelledNotification(params=params)
        await self.session.send_notification(types.ClientNotification(cancelled))

    async def ping(self) -> None:
        await self.session.send_ping()


run(main)
