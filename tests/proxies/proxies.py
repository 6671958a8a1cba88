"""proxies.py PROXY PORT

Clients of two servers behind a proxy. Prints a line for each check, and `N passed, M failed`.
"""

import http.client
import json
import sys
import threading
import time

PROXY, PORT = sys.argv[1], int(sys.argv[2])
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"

passed = failed = 0


def main():
    attempt("a modern call", modern_call)
    attempt("progress arrives during a call", progress_in_time)
    attempt("a session stays with its process", session)
    attempt("notifications arrive on the stream of a session", notifications)
    attempt("a request of 3 MB arrives", large_request)
    attempt("the server sees the name of the host", host)
    attempt("a call that says nothing outlives the time-outs of the proxy", silent_call)
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if passed and not failed else 1)


def modern_call():
    with modern("echo", {"message": "hello"}) as response:
        expect(response.status, 200)
        expect(result_of(response)["content"][0]["text"], "hello")


def progress_in_time():
    with modern("test_tool_with_progress", {}, progressToken="p") as response:
        arrived = [(time.monotonic(), message) for message in events(response)]
    expect(len(arrived), 4)
    # The server sleeps for 50 ms between two of them.
    first, last = arrived[0][0], arrived[-1][0]
    assert last - first > 0.1, f"all came within {last - first:.3f} s"


def session():
    for _ in range(4):
        headers = open_session()
        for id in range(20):
            with legacy({"id": id, "method": "tools/list"}, headers) as response:
                expect(response.status, 200)


def notifications():
    headers = open_session()
    connection = connect()
    connection.request("GET", "/mcp", headers={"Accept": "text/event-stream", **headers})
    response = connection.getresponse()
    expect(response.status, 200)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(next(events(response))))
    reader.start()
    call = {"name": "test_trigger_tool_change", "arguments": {}}
    with legacy({"id": 1, "method": "tools/call", "params": call}, headers) as called:
        expect(called.status, 200)
        called.read()
    reader.join(timeout=10)
    expect([it.get("method") for it in seen], ["notifications/tools/list_changed"])
    connection.close()


def large_request():
    text = "x" * 3_000_000
    with modern("echo", {"message": text}) as response:
        expect(response.status, 200)
        assert result_of(response)["content"][0]["text"] == text, "another text came back"


def host():
    with modern("echo", {"message": "hello"}, host="evil.example.com") as response:
        expect(response.status, 403)


def silent_call():
    # The configuration of nginx gives up after 20 s. The server sends a comment after 15 s.
    start = time.monotonic()
    with modern("wait", {"seconds": 24}) as response:
        expect(response.status, 200)
        expect(result_of(response)["content"][0]["text"], "waited")
    assert time.monotonic() - start >= 24, "it did not wait"


def modern(tool, arguments, host="localhost", **meta):
    """A call of a tool."""
    envelope = {"protocolVersion": MODERN, "clientCapabilities": {}}
    meta |= {PREFIX + key: value for key, value in envelope.items()}
    call = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    message = {"id": 1, "method": "tools/call", "params": call}
    return legacy(message, {**headers, "Host": f"{host}:{PORT}"})


def open_session():
    client = {"name": "proxies", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    with legacy({"id": 0, "method": "initialize", "params": opening}, {}) as response:
        expect(response.status, 200)
        headers = {
            "Mcp-Session-Id": response.headers["Mcp-Session-Id"],
            "MCP-Protocol-Version": "2025-11-25",
        }
    with legacy({"method": "notifications/initialized"}, headers) as response:
        expect(response.status, 202)
    return headers


class legacy:
    """A POST on a connection of its own."""

    def __init__(self, message, headers):
        self.connection = connect()
        accept = "application/json, text/event-stream"
        headers = {"Content-Type": "application/json", "Accept": accept, **headers}
        body = json.dumps({"jsonrpc": "2.0", **message})
        self.connection.request("POST", "/mcp", body, headers)

    def __enter__(self):
        return self.connection.getresponse()

    def __exit__(self, *error):
        self.connection.close()


def connect():
    return http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)


def result_of(response):
    if response.headers["Content-Type"].startswith("application/json"):
        return json.load(response)["result"]
    return [it for it in events(response) if "id" in it][-1]["result"]


def events(response):
    """The messages of a stream, as they arrive."""
    for line in response:
        if line.startswith(b"data:") and line[5:].strip():
            yield json.loads(line[5:])


def expect(found, expected):
    assert found == expected, f"{found!r}, not {expected!r}"


def attempt(what, check):
    global passed, failed
    try:
        check()
        passed += 1
        print(f"{PROXY}: {what}: ok")
    except (AssertionError, OSError, http.client.HTTPException, LookupError, ValueError) as error:
        failed += 1
        print(f"{PROXY}: {what}: {type(error).__name__} {error}")


main()
