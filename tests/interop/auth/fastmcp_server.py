"""fastmcp_server.py ISSUER

A FastMCP server that verifies JWTs with the keys of the issuer. Writes `listening on URL`.
"""

import asyncio
import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import JWTVerifier, RemoteAuthProvider
from fastmcp.server.dependencies import get_access_token

issuer = sys.argv[1]
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
origin = f"http://127.0.0.1:{listener.getsockname()[1]}"

verifier = JWTVerifier(
    jwks_uri=f"{issuer}/jwks",
    issuer=issuer,
    audience=f"{origin}/mcp",
    algorithm="ES256",
    required_scopes=["mcp:read"],
)
auth = RemoteAuthProvider(
    token_verifier=verifier, authorization_servers=[issuer], base_url=origin
)
server = FastMCP("fastmcp", auth=auth)


@server.tool
def whoami() -> str:
    """Says who asks"""
    return get_access_token().claims["sub"]


print(f"listening on {origin}/mcp", flush=True)
config = uvicorn.Config(server.http_app(), log_level="warning", ws="none")
asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
