#!/usr/bin/env python3
"""converse.py [--serial] TOOL ARGUMENTS TEXT COMMAND...

Talks to a server over standard input and output, as a modern client and as legacy clients of each
revision: ARGUMENTS is what TOOL is called with, in JSON, and TEXT what it answers. Each conversation
has a process of its own, which is to exit with 0 when its input ends.

--serial: COMMAND is a machine at a serial line. It serves all conversations, with ^D behind each, and
goes on.

Prints a line for each check, and `N passed, M failed`.
"""

import json
import queue
import subprocess
import sys
import threading

MODERN = "2026-07-28"
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
# Calls in a row, which would fill a small heap if something of each was kept.
MANY = 500
# A machine may take this long to start; an answer is there at once.
PATIENCE_SECONDS = 30

passed = failed = 0


def main():
    arguments = sys.argv[1:]
    is_serial = arguments[:1] == ["--serial"]
    arguments = arguments[is_serial:]
    if len(arguments) < 4:
        sys.exit(__doc__)
    tool = {"name": arguments[0], "arguments": json.loads(arguments[1])}
    text, command = arguments[2:3], arguments[3:]
    machine = Server(command) if is_serial else None
    for version in [MODERN, *LEGACY]:
        server = machine or Server(command)
        try:
            converse(server, version, tool, text)
            if machine:
                machine.write(b"\x04")
            else:
                check(version, "exit code at the end of input", server.end(), 0)
        except (queue.Empty, OSError, ValueError) as error:
            check(version, "conversation", repr(error), "no error")
            machine = machine and Server(command)
        if not machine:
            server.kill()
    if machine:
        check("all", "lines without a request", machine.rest(), [])
        machine.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if passed and not failed else 1)


def converse(server, version, tool, text):
    if version == MODERN:
        found = server.request(version, "server/discover")["result"]["supportedVersions"]
        check(version, "server/discover names the version", version in found, True)
    else:
        client = {"name": "converse", "version": "1"}
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        answer = server.request(version, "initialize", opening)
        check(version, "initialize", answer["result"]["protocolVersion"], version)
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        check(version, "ping", server.request(version, "ping")["result"], {})
    tools = server.request(version, "tools/list")["result"]["tools"]
    check(version, "tools/list", [it["name"] for it in tools], [tool["name"]])

    def called(**parameters):
        result = server.request(version, "tools/call", parameters)["result"]
        return [block["text"] for block in result["content"]]

    check(version, "tools/call", called(**tool), text)
    answers = [called(**tool) for _ in range(MANY)]
    check(version, f"{MANY} calls", answers, [text] * MANY)
    unknown = server.request(version, "tools/call", {"name": "unknown", "arguments": {}})
    check(version, "a tool that is not there", unknown["error"]["code"], -32602)
    server.write(b"{]\n")
    check(version, "what is not JSON", server.read()["error"]["code"], -32700)
    check(version, "a call after that", called(**tool), text)


def check(version, what, found, expected):
    global passed, failed
    if found == expected:
        passed += 1
        print(f"{version}: {what}: ok")
    else:
        failed += 1
        print(f"{version}: {what}: {found!r}, not {expected!r}")


class Server:
    """A process, whose lines a thread reads."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self.lines = queue.Queue()
        self.id = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        """Sends a message in two pieces."""
        data = json.dumps(message).encode() + b"\n"
        self.write(data[:20])
        self.write(data[20:])

    def read(self):
        """The next message. Fails if none comes."""
        line = self.lines.get(timeout=PATIENCE_SECONDS)
        if not line:
            raise OSError(f"the server is gone, with {self.process.wait()}")
        return json.loads(line)

    def request(self, version, method, parameters=None):
        """The response to a request, which is to be the next message."""
        self.id += 1
        parameters = dict(parameters or {})
        if version == MODERN:
            prefix = "io.modelcontextprotocol/"
            envelope = {"protocolVersion": version, "clientCapabilities": {}}
            parameters["_meta"] = {prefix + key: value for key, value in envelope.items()}
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": parameters}
        self.send(message)
        response = self.read()
        if response.get("id") != self.id:
            raise ValueError(f"no response to {self.id}: {response}")
        return response

    def rest(self):
        """Lines that nobody has asked for."""
        return list(self.lines.queue)

    def end(self):
        """The exit code, once the input has ended."""
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def kill(self):
        self.process.kill()
        self.process.wait()


main()
