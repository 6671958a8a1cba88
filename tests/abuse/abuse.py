"""Abuses a live server; see `run`. Usage: abuse.py modest|full SERVER COMMAND..."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import memory
import wire
from wire import Client

HERE = Path(__file__).parent

# How many of each.
NUMBERS = {
    "modest": {"idle": 2000, "flood": 500, "slow": 50, "deaf": 20, "resets": 200, "equal": 50},
    "full": {"idle": 10_000, "flood": 4000, "slow": 500, "deaf": 200, "resets": 4000, "equal": 200},
}
MAX_SESSIONS = 10_000
# No address may open all of them.
HOLDERS = 16
KIB = 1024
SESSION_BYTES, CONNECTION_BYTES = 2 * KIB, 12 * KIB
# Beside what is counted: stacks of threads, what the allocator keeps.
SLACK = 4 * KIB * KIB


class Server:
    """The process that is abused."""

    def __init__(self, command, descriptors=None):
        limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors,) * 2))
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        for line in self.process.stderr:
            if found := re.search(r"listening on http://(.+):(\d+)/mcp", line):
                self.address = found[1], int(found[2])
                break
        else:
            sys.exit("the server does not listen")
        self.said = []
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def rss(self):
        """In bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * KIB

    def descriptors(self):
        """How many are open, once nobody waits to be accepted."""
        count = self._descriptors()
        while True:
            time.sleep(0.2)
            before, count = count, self._descriptors()
            if count <= before:
                return count

    def _descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def settles(self, descriptors):
        """Waits until there are no more descriptors than that."""
        for _ in range(100):
            if self._descriptors() <= descriptors:
                return
            time.sleep(0.1)
        raise AssertionError(f"{self._descriptors()} descriptors stay open, not {descriptors}")

    def client(self, source=None):
        """`source` is the address that it comes from; all of 127.0.0.0/8 are ours."""
        return Client(self.address, source=source)

    def ask(self, request):
        """On a connection of its own."""
        client = self.client()
        answer = client.ask(request)
        client.close()
        return answer

    def session(self):
        client = self.client()
        session, _ = wire.open_session(client)
        client.close()
        return session


def check(what, holds, otherwise=""):
    assert holds, f"{what}: {otherwise}"


def idle_connections(server, numbers):
    count, before = numbers["idle"], server.rss()
    descriptors = server.descriptors()
    clients = [server.client() for _ in range(count)]
    # Who is slow may be gone meanwhile.
    check("all are accepted", server.descriptors() >= descriptors + count - numbers["slow"])
    fresh = (server.rss() - before) / count
    # The first answers of each connection come later, from all at once.
    for client in clients:
        client.socket.sendall(wire.modern("echo", {"message": "x"}))
    for client in clients:
        check("a call on each", client.answer()[0] == 200)
    served = (server.rss() - before) / count
    print(f"  {count} idle connections: {fresh:.0f} bytes each, {served:.0f} after a call")
    room = SLACK / count
    check("connections are small", served < CONNECTION_BYTES + room, f"{served:.0f} bytes")
    for client in clients:
        client.close()
    server.settles(descriptors)


def idle_sessions(server, numbers):
    clients = [server.client(f"127.0.1.{n + 1}") for n in range(HOLDERS)]
    before, sessions = server.rss(), []
    for client in clients:
        for _ in range(MAX_SESSIONS // HOLDERS):
            session, answer = wire.open_session(client)
            check("a session", session, answer)
            sessions.append(session)
    each = (server.rss() - before) / len(sessions)
    client = server.client()
    more, answer = wire.open_session(client)
    check("one more", more, answer)
    sessions.append(more)
    # One of the sessions that are idle for longest has ended for it.
    ended = sessions[:: MAX_SESSIONS // HOLDERS]
    pings = [client.ask(wire.legacy(session, "echo", {"message": "x"}))[0] for session in ended]
    check("one has ended", pings.count(404) == 1, pings)
    sessions.remove(ended[pings.index(404)])
    print(f"  {len(sessions)} idle sessions: {each:.0f} bytes each")
    check("sessions are small", each < SESSION_BYTES, f"{each:.0f} bytes")
    for session in sessions:
        check("a session ends", client.ask(wire.delete(session))[0] == 204)
    status, _, _ = client.ask(wire.legacy(sessions[0], "echo", {"message": "x"}))
    check("the dead are forgotten", status == 404, status)
    for client in [client, *clients]:
        client.close()


def one_takes_all(server, numbers):
    """One client opens sessions and listens as often as it can, and another one is served."""
    greedy, began = server.client("127.0.2.1"), time.monotonic()
    statuses = [greedy.ask(wire.initialize())[0] for _ in range(2 * numbers["idle"])]
    took = time.monotonic() - began
    opened = statuses.count(200)
    check("a rate of `initialize`", opened <= 1001 + 100 * took, (opened, took))
    check("the rest is refused", set(statuses) <= {200, 503}, set(statuses))
    listeners = [server.client("127.0.2.1") for _ in range(1100)]
    for client in listeners:
        client.socket.sendall(wire.listen())
    for client in listeners:
        check("it listens", b" 200 OK" in client._until(b"\r\n\r\n"))
    began = time.monotonic()
    client = server.client()
    session, answer = wire.open_session(client)
    check("another one has a session", session, answer)
    check("and is served", client.ask(wire.legacy(session, "echo", {"message": "x"}))[0] == 200)
    client.ask(wire.delete(session))
    client.socket.sendall(wire.listen())
    check("and listens", b" 200 OK" in client._until(b"\r\n\r\n"))
    print(f"  {opened} of {len(statuses)} sessions opened; another client waited {(time.monotonic() - began) * 1000:.0f} ms")
    for client in [client, greedy, *listeners]:
        client.reset()


def few_descriptors(command, numbers):
    """One client has more idle connections than the server has descriptors, and another is served."""
    server = Server(command, descriptors=1024)
    try:
        idle = [server.client("127.0.2.1") for _ in range(1060)]
        began = time.monotonic()
        for _ in range(10):
            status, _, _ = server.ask(wire.modern("echo", {"message": "x"}))
            check("another client is served", status == 200, status)
        took = time.monotonic() - began
        check("at once", took < 5, took)
        for client in idle:
            client.close()
        time.sleep(0.1)
        check("it has said so", any("cannot be accepted" in line for line in server.said), server.said)
        print(f"ok    few descriptors ({took * 1000:.0f} ms for 10 calls)")
    finally:
        server.process.kill()


def with_sessions_alone(command, numbers):
    server = Server(command)
    try:
        idle_sessions(server, numbers)
    finally:
        server.process.kill()


def equal_ids(server, numbers):
    clients = [server.client() for _ in range(numbers["equal"])]
    sessions = [wire.open_session(client)[0] for client in clients]
    for n, (client, session) in enumerate(zip(clients, sessions)):
        text = {"message": f"mine is {n}"}
        request = wire.legacy(session, "echo", text, 7) if n % 2 else wire.modern("echo", text, 7)
        client.socket.sendall(request)
    for n, client in enumerate(clients):
        status, _, body = client.answer()
        check("equal ids", status == 200 and f'"mine is {n}"' in body, body)
    for client, session in zip(clients, sessions):
        client.ask(wire.delete(session))
        client.close()


def unread(server, numbers):
    """Clients that ask and ask and never read."""
    descriptors, before = server.descriptors(), server.rss()
    session, clients = server.session(), []
    text = {"message": "x" * 20_000}
    requests = [wire.modern("echo", text) * 20, wire.legacy(session, "echo", text) * 20]
    sent = 0
    for n in range(numbers["deaf"]):
        # One by one: the server ends connections that have been idle for too long.
        client = server.client()
        clients.append(client)
        client.socket.setblocking(False)
        pause, request = 0, memoryview(requests[n % 2])
        at = 0
        while pause < 5:
            try:
                at += client.socket.send(request[at % len(request) :])
                pause = 0
            except BlockingIOError:
                pause += 1
                time.sleep(0.01)
        sent += at
    grown = server.rss() - before
    print(f"  {len(clients)} clients that do not read: {sent >> 20} MiB sent, {grown >> 20} MiB kept")
    check("what is unread is bounded", grown < len(clients) * 3 * KIB * KIB + 4 * SLACK, grown)
    for client in clients:
        client.reset()
    server.ask(wire.delete(session))
    server.settles(descriptors)


def oversized(server, numbers):
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    long = "x" * (1 << 20)
    chunked = head + "Accept: */*\r\nTransfer-Encoding: chunked\r\n\r\n"
    deep = "[" * 100_000
    call = json.dumps(wire.message("tools/call", {"name": "echo"}, "i" * 2000))
    cases = [
        (414, f"GET /{long}"),
        (431, f"{head}X: {long}"),
        (431, head + "X: y\r\n" * 1000),
        (413, f"{head}Accept: */*\r\nContent-Length: 99999999\r\n\r\n"),
        (413, chunked + f"100000\r\n{long}\r\n" * 5),
        (400, chunked + "0" * 2000),
        (400, wire.post(deep).decode()),
        (400, wire.post("[" + "1," * 100_000 + "1]").decode()),
        (400, wire.post(call).decode()),
        (400, "NOT HTTP\r\n\r\n"),
    ]
    for expected, request in cases:
        client = server.client()
        try:
            client.socket.sendall(request.encode())
        except OSError:
            pass  # It has said what it had to say, and reads no more.
        status, _, body = client.answer()
        check(f"oversized, {request[:40]!r}", status == expected, (status, body[:200]))
        check("short answers", len(body) < 2000, len(body))
        client.close()


def resets(server, numbers):
    descriptors = server.descriptors()
    session = server.session()
    requests = [
        wire.get(session),
        wire.legacy(session, "wait", {"seconds": 1}),
        wire.modern("wait", {"seconds": 60}),
        wire.modern("echo", {"message": "x" * 100_000}),
        wire.modern("echo", {"message": "x"})[:-5],
    ]
    for n in range(numbers["resets"]):
        client = server.client()
        client.socket.sendall(requests[n % len(requests)])
        client.reset()
    status, _, _ = server.ask(wire.legacy(session, "echo", {"message": "x"}, "last"))
    check("a session survives", status in (200, 503), status)
    server.ask(wire.delete(session))
    server.settles(descriptors)


def flood(server, numbers):
    """Sessions that are opened and never used, half of them without a look at the answer."""
    descriptors = server.descriptors()
    for n in range(numbers["flood"]):
        client = server.client()
        client.socket.sendall(wire.initialize())
        if n % 2:
            check("a session", client.answer()[0] in (200, 503))
        client.reset()
    server.settles(descriptors)


class Slow(threading.Thread):
    """Connections that send a byte now and then: the server ends them when their time is over."""

    def __init__(self, server, numbers):
        super().__init__(daemon=True)
        head = wire.modern("echo", {"message": "x"})
        at = head.index(b"\r\n\r\n") + 8
        count = numbers["slow"]
        self.started = time.monotonic()
        # What each has to send yet; the bodies of the second half are slow.
        self.rest = {}
        for n in range(count):
            client = server.client()
            if n >= count // 2:
                client.socket.sendall(head[:at])
            self.rest[client] = head if n < count // 2 else head[at:]
        self.heads = [client for client, rest in self.rest.items() if rest is head]
        self.bodies = [client for client in self.rest if client not in self.heads]
        # When they were.
        self.ended = {}

    def run(self):
        for at in range(1000):
            for client, rest in list(self.rest.items()):
                if client.has_more():
                    self.ended[client] = time.monotonic()
                    del self.rest[client]
                    continue
                try:
                    client.socket.send(rest[at : at + 1] if at < 30 else b"")
                except OSError:
                    pass  # It has said what it had to say.
            time.sleep(0.5)

    def end(self, bodies):
        """All were told that they were too slow."""
        clients = self.heads + (self.bodies if bodies else [])
        for client in clients:
            check("who is slow", client.answer()[0] == 408)
            # The server waits for that, for `Limits::drain` at most, even if it is told to end.
            client.close()
        now = time.monotonic()
        took = max(self.ended.get(client, now) for client in clients) - self.started
        check("who is slow is told in time", took < (90 if bodies else 60), took)


def main(numbers, *command):
    start, name = time.monotonic(), numbers
    numbers = NUMBERS[numbers]
    # What a session costs shows where no memory was given back yet.
    with_sessions_alone(command, numbers)
    attacked = Server(command)
    try:
        memory.main(attacked)
    finally:
        attacked.process.kill()
    few_descriptors(command, numbers)
    server = Server(command)
    polite = []
    try:
        for era in ("legacy", "modern"):
            words = [sys.executable, "-B", str(HERE / "polite.py"), *map(str, server.address), era]
            polite.append((era, subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)))
        time.sleep(0.5)
        slow = Slow(server, numbers)
        slow.start()
        steps = [idle_connections, equal_ids, unread, oversized, resets, flood, one_takes_all]
        if name == "full":
            steps.insert(1, idle_sessions)
        for step in steps:
            began = time.monotonic()
            step(server, numbers)
            print(f"ok    {step.__name__.replace('_', ' ')} ({time.monotonic() - began:.1f} s)", flush=True)
        slow.end(bodies=name == "full")
        print("ok    slow heads and bodies")
        if name == "full":
            time.sleep(61)
            idle_sessions(server, numbers)
            print("ok    who only opened a session is forgotten")
        for era, process in polite:
            said, _ = process.communicate()
            check(f"the {era} client", process.returncode == 0)
            count, worst = map(int, said.split())
            print(f"  {era}: served {count} times, {worst} ms at most")
            check("nobody waits for long", count > 10 and worst < 5000, worst)
        last = [server.client() for _ in range(10)]
        check("it is alive", last[0].ask(wire.modern("echo", {"message": "x"}))[0] == 200)
        session, _ = wire.open_session(last[1])
        last[2].socket.sendall(wire.get(session))
        last[2]._until(b"\r\n\r\n")
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        code = server.process.wait(timeout=10)
        took = time.monotonic() - began
        check("it ends at once", code == 0 and took < 1, (code, took))
        print(f"ok    it ends in {took * 1000:.0f} ms")
        said = [line for line in server.said if not line.startswith("mcp: Limits::")]
        check("it has nothing to say", not said, said[:5])
        print(f"abuse: passed, {time.monotonic() - start:.0f} s")
    finally:
        server.process.kill()
        for _, process in polite:
            process.kill()


main(*sys.argv[1:])
