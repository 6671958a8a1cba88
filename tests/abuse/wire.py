"""Requests as bytes, and answers as they come: what a client needs that may also misbehave."""

import json
import select
import socket
import struct

MODERN = "2026-07-28"
LEGACY = "2025-11-25"


class Client:
    """One connection."""

    def __init__(self, address, timeout=60, source=None):
        source = source and (source, 0)
        self.socket = socket.create_connection(address, timeout=timeout, source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unread = b""

    def ask(self, request):
        """Sends a request and reads its answer: status, fields, body."""
        self.socket.sendall(request)
        return self.answer()

    def answer(self):
        head = self._until(b"\r\n\r\n").decode()
        line, *rest = head.split("\r\n")
        fields = {name.lower(): value for name, value in (field.split(": ", 1) for field in rest if field)}
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self._until(b"\r\n"), 16):
                body += self._exactly(size + 2)[:-2]
            self._exactly(2)
        else:
            body = self._exactly(int(fields.get("content-length", 0)))
        return int(line.split()[1]), fields, body.decode()

    def has_more(self):
        """Whether the server has said something that was not read, or one of both has gone."""
        readable = select.poll()
        try:
            readable.register(self.socket, select.POLLIN)
        except ValueError:
            return True
        return bool(readable.poll(0))

    def reset(self):
        """Is gone at once, without an end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    def _until(self, end):
        while end not in self.unread:
            self._read()
        found, self.unread = self.unread.split(end, 1)
        return found

    def _exactly(self, count):
        while len(self.unread) < count:
            self._read()
        found, self.unread = self.unread[:count], self.unread[count:]
        return found

    def _read(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server has closed")
        self.unread += data


def post(body, fields=""):
    body = body if isinstance(body, str) else json.dumps(body)
    return (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\n{fields}Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def message(method, params, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def modern(tool, arguments, id=1):
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    fields = f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    return post(message("tools/call", params, id), fields)


def initialize(version=LEGACY):
    info = {"name": "abuse", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    return post(message("initialize", params, 0))


def of_session(session):
    return f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {LEGACY}\r\n"


def initialized(session):
    return post({"jsonrpc": "2.0", "method": "notifications/initialized"}, of_session(session))


def listen(id=1):
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    fields = f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: subscriptions/listen\r\n"
    return post(message("subscriptions/listen", params, id), fields)


def legacy(session, tool, arguments, id=1):
    return post(message("tools/call", {"name": tool, "arguments": arguments}, id), of_session(session))


def get(session):
    return f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{of_session(session)}\r\n".encode()


def delete(session):
    return f"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{of_session(session)}\r\n".encode()


def open_session(client):
    """A session, or the answer that refuses one."""
    answer = client.ask(initialize())
    status, fields, _ = answer
    if status != 200:
        return None, answer
    session = fields["mcp-session-id"]
    status, _, _ = client.ask(initialized(session))
    assert status == 202, status
    return session, answer
