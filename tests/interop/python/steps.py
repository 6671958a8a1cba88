"""The steps that every Python client takes, whichever SDK it is built on."""

import base64
import json
import re
from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import anyio
from host import MODEL_TEXT, ROOT, Host
from run import expect, expect_in, ok, until

TOOLS = {
    "echo",
    "test_elicitation",
    "test_error_handling",
    "test_image_content",
    "test_sampling",
    "test_simple_text",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "wait",
}
LOGGED = ["Tool execution started", "Tool processing data", "Tool execution completed"]
WATCHED = "test://watched-resource"
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002


class Sdk(Protocol):
    """What the SDKs do each in its way. Results are as on the wire."""

    is_legacy: bool
    protocol_version: str
    Error: type[Exception]
    """What a JSON-RPC error is raised as; its `error.code` is the code."""

    async def server_info(self) -> dict[str, Any]: ...
    async def list_page(self, what: str, cursor: str | None) -> dict[str, Any]: ...
    async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]: ...
    async def call_tool_logging(self, name: str, level: str) -> None:
        """Calls a tool and asks for what it logs from `level` on."""

    async def read_resource(self, uri: str) -> dict[str, Any]: ...
    async def get_prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]: ...
    async def complete(self, ref: dict[str, str], argument: dict[str, str]) -> dict[str, Any]: ...
    def watch(self, uri: str) -> AbstractAsyncContextManager[None]:
        """Asks for changes of the lists and of a resource."""

    async def cancel(self, name: str, arguments: dict[str, Any]) -> None:
        """Calls a tool, and cancels the call a little later."""

    async def ping(self) -> None: ...


async def take_steps(sdk: Sdk, host: Host) -> None:
    await meet(sdk)
    await use_tools(sdk)
    await read_resources(sdk)
    await get_prompts(sdk, host)
    await complete(sdk)
    await see_progress(sdk)
    await see_logs(sdk, host)
    await answer_one_request(sdk, host)
    await answer_many_requests(sdk, host)
    await see_changes(sdk, host)

    await sdk.cancel("wait", {"seconds": 1})
    ok("cancel")
    await echo(sdk, "still here")
    ok("tool after cancel")
    await anyio.sleep(1)  # An answer that came all the same would be a fault.
    if sdk.is_legacy:
        await sdk.ping()
        ok("ping")
    expect(host.faults, [])
    ok("no faults")


async def meet(sdk: Sdk) -> None:
    expect(sdk.protocol_version, "2025-11-25" if sdk.is_legacy else "2026-07-28")
    ok("protocol version")
    info = await sdk.server_info()
    expect(info["name"], "everything")
    assert re.match(r"\d+\.\d+\.\d+", info["version"]), info
    ok("server info")


async def use_tools(sdk: Sdk) -> None:
    async def types(name: str) -> list[str]:
        return [content["type"] for content in (await sdk.call_tool(name, {}))["content"]]

    expect(TOOLS - await listed(sdk, "tools", "name"), set())
    ok("list tools")
    await echo(sdk, "hello, ✓ wörld")
    ok("tool with text")

    [image] = (await sdk.call_tool("test_image_content", {}))["content"]
    expect((image["type"], image["mimeType"]), ("image", "image/png"))
    expect_png(image["data"])
    ok("tool with an image")
    expect(await types("test_audio_content"), ["audio"])
    expect(await types("test_embedded_resource"), ["resource"])
    expect(await types("test_multiple_content_types"), ["text", "image", "resource"])
    ok("tools with other contents")

    failed = await sdk.call_tool("test_error_handling", {})
    expect(failed["isError"], True)
    expect(text_of(failed), "This tool intentionally returns an error for testing")
    ok("tool error")
    expect(await error_code(sdk, sdk.call_tool("no_such_tool", {})), INVALID_PARAMS)
    ok("unknown tool")


async def read_resources(sdk: Sdk) -> None:
    async def read(uri: str) -> dict[str, Any]:
        [content] = (await sdk.read_resource(uri))["contents"]
        return content

    uris = {"test://static-text", "test://static-binary", WATCHED}
    expect(uris - await listed(sdk, "resources", "uri"), set())
    ok("list resources")
    expect(await listed(sdk, "resource_templates", "uriTemplate"), {"test://template/{id}/data"})
    ok("list resource templates")

    text = await read("test://static-text")
    expect(text["text"], "This is the content of the static text resource.")
    ok("resource")
    binary = await read("test://static-binary")
    expect(binary["mimeType"], "image/png")
    expect_png(binary["blob"])
    ok("binary resource")
    expect_in("123", (await read("test://template/123/data"))["text"])
    ok("resource by template")

    code = RESOURCE_NOT_FOUND if sdk.is_legacy else INVALID_PARAMS
    expect(await error_code(sdk, read("test://no-such-resource")), code)
    ok("unknown resource")


async def get_prompts(sdk: Sdk, host: Host) -> None:
    async def get(name: str, **arguments: str) -> dict[str, Any]:
        return (await sdk.get_prompt(name, arguments))["messages"][0]["content"]

    names = {"test_simple_prompt", "test_prompt_with_arguments"}
    expect(names - await listed(sdk, "prompts", "name"), set())
    ok("list prompts")
    text = (await get("test_prompt_with_arguments", arg1="one", arg2="two"))["text"]
    expect_in("one", text)
    expect_in("two", text)
    ok("prompt with arguments")
    embedded = await get("test_prompt_with_embedded_resource", resourceUri="test://static-text")
    expect(embedded["resource"]["uri"], "test://static-text")
    ok("prompt with a resource")

    host.asked.clear()
    expect_in("my context", (await get("test_input_required_result_prompt"))["text"])
    expect(host.asked, ["elicitation/create"])
    ok("prompt that asks")


async def complete(sdk: Sdk) -> None:
    async def values(ref: dict[str, str], name: str, value: str) -> list[str]:
        return (await sdk.complete(ref, {"name": name, "value": value}))["completion"]["values"]

    prompt = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    expect(await values(prompt, "arg1", "test"), ["testValue1", "testValue2"])
    expect(await values(prompt, "arg1", "no"), [])
    ok("complete a prompt argument")
    template = {"type": "ref/resource", "uri": "test://template/{id}/data"}
    expect(await values(template, "id", "12"), ["123", "124"])
    ok("complete a resource template")


async def see_progress(sdk: Sdk) -> None:
    await call_with_progress(sdk, {})
    ok("progress")


async def see_logs(sdk: Sdk, host: Host) -> None:
    await sdk.call_tool_logging("test_tool_with_logging", "error")
    if not sdk.is_legacy:  # A legacy server decides itself what a client that has set no level gets.
        await sdk.call_tool("test_tool_with_logging", {})
    await echo(sdk, "the logs are over")
    expect(host.logs, [])
    ok("no logs unless asked for")
    await sdk.call_tool_logging("test_tool_with_logging", "info")
    await until(lambda: len(host.logs) >= len(LOGGED))
    expect([(log["level"], log["data"]) for log in host.logs], [("info", data) for data in LOGGED])
    ok("logs")


async def answer_one_request(sdk: Sdk, host: Host) -> None:
    async def elicit() -> tuple[str, str]:
        text = text_of(await sdk.call_tool("test_elicitation", {"message": "Who are you?"}))
        _, action, content = text.split(": ", 2)
        return action, content

    action, content = await elicit()
    expect(action, "accept")
    expect(json.loads(content), {"username": "my username", "email": "my email"})
    ok("elicitation, accepted")
    host.action = "decline"
    expect((await elicit())[0], "decline")
    host.action = "accept"
    ok("elicitation, declined")

    sampled = await sdk.call_tool("test_sampling", {"prompt": "Which capital?"})
    expect(text_of(sampled), f"LLM response: {MODEL_TEXT}")
    ok("sampling")


async def answer_many_requests(sdk: Sdk, host: Host) -> None:
    async def call(name: str, *asked: str) -> str:
        host.asked.clear()
        text = text_of(await sdk.call_tool(f"test_input_required_result_{name}", {}))
        expect(sorted(host.asked), list(asked))
        return text

    expect(await call("elicitation", "elicitation/create"), "Hello, my name!")
    ok("input required: elicitation")
    expect_in(MODEL_TEXT, await call("sampling", "sampling/createMessage"))
    ok("input required: sampling")
    expect_in(ROOT, await call("list_roots", "roots/list"))
    ok("input required: roots")
    text = await call("multi_round", "elicitation/create", "elicitation/create")
    expect_in("my name", text)
    expect_in("my color", text)
    ok("input required: two rounds")
    await call("multiple_inputs", "elicitation/create", "roots/list", "sampling/createMessage")
    ok("input required: all kinds at once")


async def see_changes(sdk: Sdk, host: Host) -> None:
    triggers = {
        "test_trigger_tool_change": "notifications/tools/list_changed",
        "test_trigger_prompt_change": "notifications/prompts/list_changed",
        "test_trigger_resource_update": WATCHED,
    }
    async with sdk.watch(WATCHED):
        for count, tool in enumerate(triggers, 1):
            await sdk.call_tool(tool, {})
            await until(lambda: len(host.changes) >= count)
        expect(host.changes, list(triggers.values()))
        ok("changed tools, changed prompts, updated resource")

    await echo(sdk, "not watching")  # An SDK may still be about to tell the server.
    await sdk.call_tool("test_trigger_resource_update", {})
    await echo(sdk, "the updates are over")
    expect(host.changes, list(triggers.values()))
    ok("unsubscribe")


async def call_with_progress(sdk: Sdk, arguments: dict[str, Any]) -> None:
    """Calls the tool that tells how far it is, and sees all that it tells."""
    seen: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    await sdk.call_tool("test_tool_with_progress", arguments, progress_callback=on_progress)
    expect(seen, [(0, 100), (50, 100), (100, 100)])


async def listed(sdk: Sdk, what: str, field: str) -> set[str]:
    """The `field` of every item of a list, from all of its pages."""
    fields: set[str] = set()
    cursor = None
    while True:
        page = await sdk.list_page(what, cursor)
        cursor = page.pop("nextCursor", None)
        [items] = [items for items in page.values() if isinstance(items, list)]
        fields |= {item[field] for item in items}
        if not cursor:
            return fields


async def error_code(sdk: Sdk, request: Awaitable[Any]) -> Any:
    try:
        return await request
    except sdk.Error as error:
        return error.error.code


async def echo(sdk: Sdk, message: str) -> None:
    expect(text_of(await sdk.call_tool("echo", {"message": message})), message)


def text_of(result: dict[str, Any]) -> str:
    """The text of a result that is one text and nothing else."""
    [content] = result["content"]
    return content["text"]


def expect_png(data: str) -> None:
    expect(base64.b64decode(data)[1:4], b"PNG")
