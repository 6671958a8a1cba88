"""modern.py MODE -- URL | COMMAND...: mcp 2, which speaks both eras."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from host import Host, wire
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.subscriptions import PromptsListChanged, ResourceUpdated, ServerEvent, ToolsListChanged
from over_http import take_http_steps
from run import Server, expect, ok, run
from steps import Sdk, take_steps

# Here the SDK says that it dropped an answer, below the level of a warning.
logging.getLogger("mcp.shared.jsonrpc_dispatcher").setLevel(logging.DEBUG)

# Nor does it list a tool whose header mirrors a property of two types, one of which is null.
logging.getLogger("client").addFilter(lambda record: "test_header_union" not in record.getMessage())

# In the mode `fallback` the server must turn out to be a legacy one.
MODES = {"legacy": "legacy", "auto": "auto", "fallback": "auto", "pinned": "2026-07-28"}

INVALID_REQUEST = -32600


async def main(mode: str, server: Server) -> None:
    host = Host()
    async with connection(server, mode, host) as sdk:
        ok("connect")
        await take_steps(sdk, host)
    ok("close")

    if server.url:
        # The other modes keep to their era: the server may know no other.
        modes = ("legacy", "pinned") if mode == "legacy" else (mode,)
        crowd = [partial(connection, server, mode) for mode in modes]
        await take_http_steps(partial(connection, server, mode), crowd, INVALID_REQUEST, host.faults)


@asynccontextmanager
async def connection(server: Server, mode: str, host: Host) -> AsyncIterator[Sdk]:
    client = Client(
        server.url or StdioServerParameters(**server.command),
        mode=MODES[mode],
        elicitation_callback=host.elicit,
        sampling_callback=host.sample,
        list_roots_callback=host.list_roots,
        logging_callback=host.log,
        message_handler=host.notice,
    )
    async with client:
        if mode in ("legacy", "fallback"):
            yield Legacy(client, host.faults if server.url else [])
        else:
            yield Modern(client, host)


class BothEras:
    """The steps that the SDK takes the same way in both eras."""

    Error = MCPError

    def __init__(self, client: Client) -> None:
        self.client = client
        self.protocol_version = client.protocol_version

    async def list_page(self, what: str, cursor: str | None) -> dict[str, Any]:
        return wire(await getattr(self.client, f"list_{what}")(cursor=cursor))

    async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        return wire(await self.client.call_tool(name, arguments, **options))

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return wire(await self.client.read_resource(uri))

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        return wire(await self.client.get_prompt(name, arguments))

    async def complete(self, ref: dict[str, str], argument: dict[str, str]) -> dict[str, Any]:
        kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
        return wire(await self.client.complete(kinds[ref["type"]](**ref), argument))

    async def cancel(self, name: str, arguments: dict[str, Any]) -> None:
        with anyio.move_on_after(0.2) as waiting:
            await self.client.call_tool(name, arguments)
        expect(waiting.cancelled_caught, True)


class Legacy(BothEras):
    is_legacy = True

    def __init__(self, client: Client, faults: list[str]) -> None:
        """`faults` are those that a cancelled call may add to."""
        super().__init__(client)
        self.faults = faults

    async def server_info(self) -> dict[str, Any]:
        return wire(self.client.server_info)

    async def call_tool_logging(self, name: str, level: types.LoggingLevel) -> None:
        await self.client.set_logging_level(level)
        await self.client.call_tool(name)

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[None]:
        await self.client.subscribe_resource(uri)
        yield
        await self.client.unsubscribe_resource(uri)

    async def cancel(self, name: str, arguments: dict[str, Any]) -> None:
        await super().cancel(name, arguments)
        # Over HTTP this SDK makes an answer of its own when a request ends without one, and drops it.
        await anyio.sleep(0.2)
        self.faults[:] = [fault for fault in self.faults if "dropping response" not in fault]

    async def ping(self) -> None:
        await self.client.send_ping()


class Modern(BothEras):
    is_legacy = False

    def __init__(self, client: Client, host: Host) -> None:
        super().__init__(client)
        self.host = host

    async def server_info(self) -> dict[str, Any]:
        if self.client.server_info:
            return wire(self.client.server_info)
        # A pinned client asks for no introduction, but the server signs each of its results.
        page = await self.list_page("tools", None)
        return page["_meta"][types.SERVER_INFO_META_KEY]

    async def call_tool_logging(self, name: str, level: str) -> None:
        await self.client.call_tool(name, meta={types.LOG_LEVEL_META_KEY: level})

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[None]:
        listening = self.client.listen(
            tools_list_changed=True, prompts_list_changed=True, resource_subscriptions=[uri]
        )
        async with listening as subscription:
            asked = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": [uri]}
            expect(wire(subscription.honored), asked)
            yield
            # The host sees every change, the subscription those that bear its id.
            for change in self.host.changes:
                expect(name_of(await anext(subscription)), change)


def name_of(event: ServerEvent) -> str | None:
    match event:
        case ToolsListChanged():
            return "notifications/tools/list_changed"
        case PromptsListChanged():
            return "notifications/prompts/list_changed"
        case ResourceUpdated(uri):
            return uri


run(main)
