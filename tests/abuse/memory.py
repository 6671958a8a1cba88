"""Attacks on the memory of a server as a whole: whatever clients leave behind, it stays below a bound."""

import re
import time
from pathlib import Path

import wire

KIB = 1024
MIB = KIB * KIB

# `Limits::max_endpoint_bytes` is 256 MiB, and a process takes twice as much at most.
MAX_RESIDENT = 512 * MIB


def peak(server):
    """The most memory that the process ever had, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * KIB


def push(client, request):
    """Sends as much of a request as the server reads."""
    client.socket.settimeout(10)
    at = 0
    try:
        while at < len(request) and not client.has_more():
            at += client.socket.send(request[at : at + 256 * KIB])
    except OSError:
        pass  # It has said what it had to say.


def is_refused(client, patience):
    """Whether the server has refused a request, or does so within some seconds."""
    until = time.monotonic() + patience
    while not client.has_more():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    try:
        status, _, body = client.answer()
    except OSError:
        return True  # The connection was reset behind the answer.
    assert status == 503 and "max_endpoint_bytes" in body and "-32603" in body, (status, body[:200])
    return True


def unfinished_bodies(server):
    """A gigabyte of bodies that lack their last byte."""
    request = wire.modern("echo", {"message": "x" * (4 * MIB - KIB)})[:-1]
    clients = [server.client() for _ in range(250)]
    for client in clients:
        push(client, request)
    time.sleep(0.5)
    refused = sum(is_refused(client, 0) for client in clients)
    assert refused >= 190, refused
    status, _, _ = server.ask(wire.modern("echo", {"message": "x"}))
    assert status == 200, "a small call is served"
    for client in clients:
        client.reset()
    return f"{refused} of {len(clients)} bodies are refused"


def abandoned_calls(server):
    """Large calls of sessions that outlive their connections; the handlers keep the arguments."""
    request, clients = None, []
    for at in range(392):
        if at % 15 == 0:
            session = server.session()
            text = {"seconds": 30, "text": "x" * (4 * MIB - KIB)}
            request = wire.legacy(session, "wait", text, 10)
            at_id = request.index(b'"id": 10,')
        client = server.client()
        call = request[:at_id] + b'"id": %d,' % (10 + at % 15) + request[at_id + 9 :]
        push(client, call)
        clients.append(client)
    time.sleep(1)
    refused = sum(is_refused(client, 0) for client in clients)
    for client in clients:
        client.close()
    assert refused > 300, refused
    return f"{refused} of 392 calls are refused"


def kept_answers(server):
    """Answers of sessions whose clients are gone: more than the server may keep."""
    text = "x" * (900 * KIB)
    for _ in range(400):
        client = server.client()
        session, _ = wire.open_session(client)
        client.socket.sendall(wire.legacy(session, "echo", {"message": text}))
        client.close()
    return "400 answers are kept or forgotten"


def batch(server):
    """A small batch whose answers would be large."""
    client = server.client()
    status, fields, _ = client.ask(wire.initialize("2025-03-26"))
    assert status == 200
    session = fields["mcp-session-id"]
    lists = [wire.message("tools/list", {}, n) for n in range(1024)]
    request = wire.post(lists, f"Mcp-Session-Id: {session}\r\n")
    status, _, body = client.ask(request)
    client.close()
    assert status == 200 and len(body) < 2 * MIB and "max_batch_bytes" in body, (status, len(body))
    return f"{len(request) // KIB} KiB in, {len(body) // KIB} KiB out"


def main(server):
    for attack in (batch, unfinished_bodies, kept_answers, abandoned_calls):
        began = time.monotonic()
        told = attack(server)
        most, name = peak(server), attack.__name__.replace("_", " ")
        print(f"ok    {name}: {told}, {most // MIB} MiB at most ({time.monotonic() - began:.1f} s)", flush=True)
        assert most < MAX_RESIDENT, f"{name}: {most // MIB} MiB"
