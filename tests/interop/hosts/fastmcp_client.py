"""fastmcp_client.py COMMAND URL: calls the tool `echo` of each server, and prints `NAME: ANSWER`."""

import asyncio
import sys

from fastmcp import Client


async def main(command: str, url: str) -> None:
    servers = {"local": {"command": command, "args": ["stdio"]}, "remote": {"url": url}}
    for name, server in servers.items():
        async with Client({"mcpServers": {name: server}}) as client:
            tools = [tool.name for tool in await client.list_tools()]
            result = await client.call_tool(tools[0], {"message": "hello"})
            print(f"{name}: {result.content[0].text}")


asyncio.run(main(*sys.argv[1:]))
