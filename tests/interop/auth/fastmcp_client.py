"""fastmcp_client.py URL

The client of FastMCP signs in to a server of ours, with the browser of BROWSER, and calls its tool.
"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth


async def main() -> None:
    auth = OAuth(scopes=["mcp:read"], callback_host="127.0.0.1")
    async with Client(sys.argv[1], auth=auth) as client:
        print((await client.call_tool("whoami")).content[0].text)


asyncio.run(main())
