"""tasks.py SERVER SOCKET SEED: two processes of the example `redis_tasks` behind the Redis at SOCKET."""

import collections
import http.client
import json
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

TASKS = 200
WORKERS = 40
LEASE = 3
ENDED = {"completed", "failed", "cancelled"}
# A task whose process was killed ends with its lease.
LONGEST = 40


class Server:
    """A process of the example; started again, it listens elsewhere."""

    def __init__(self, command):
        self.command = command
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert line.startswith("listening on "), line
        self.address = urllib.parse.urlsplit(line.split()[-1]).netloc

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def ask(self, method, name, params):
        """The result of a request, or its error; fails if the process is not there."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {"form": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}
        fields = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            "Mcp-Name": name,
        }
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request("POST", "/mcp", json.dumps(body), fields)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.getheader("Content-Type", "").startswith("text/event-stream"):
            text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
        answer = json.loads(text)
        return answer.get("result") or answer["error"]

    def print(self, title, pages):
        return self.ask("tools/call", "print", {"name": "print", "arguments": {"title": title, "pages": pages}})

    def get(self, task):
        return self.ask("tasks/get", task, {"taskId": task})

    def give(self, task, key, action):
        responses = {key: {"action": action, "content": {}} if action == "accept" else {"action": action}}
        return self.ask("tasks/update", task, {"taskId": task, "inputResponses": responses})

    def cancel(self, task):
        return self.ask("tasks/cancel", task, {"taskId": task})


class Redis:
    """A few commands."""

    def __init__(self, path):
        self.path = path

    def list(self, key):
        """How often each value is in a list."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.sendall(f"LRANGE {key} 0 -1\r\n".encode())
            lines = connection.makefile("rb")
            count = int(lines.readline()[1:])
            values = []
            for _ in range(count):
                length = int(lines.readline()[1:])
                values.append(lines.read(length + 2)[:-2].decode())
        return collections.Counter(values)


def main():
    program, path, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    command = [program, "--listen", "127.0.0.1:0", "--redis", f"redis+unix://{path}", "--lease", str(LEASE)]
    redis, servers = Redis(path), [Server(command), Server(command)]
    passed = failed = 0
    try:
        for name, test in [
            ("each step at another process", each_step_elsewhere),
            ("cancelled at another process", cancelled_elsewhere),
            ("two answers at once are one", two_answers),
            ("killed while it prints", killed_while_it_prints),
            (f"{TASKS} tasks among kills, seed {seed}", lambda *it: storm(*it, seed)),
        ]:
            start = time.monotonic()
            try:
                told = test(servers, redis) or ""
                passed += 1
                print(f"ok    {name} ({time.monotonic() - start:.1f} s) {told}", flush=True)
            except (AssertionError, OSError, KeyError, http.client.HTTPException) as error:
                failed += 1
                print(f"FAIL  {name}: {error!r}", flush=True)
    finally:
        for server in servers:
            server.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


def each_step_elsewhere(servers, redis):
    """Created by one process, read and answered at the other, which prints; read at the first."""
    one, other = servers
    task = created(one, "steps", 2)
    key = wait_for(other, task, "input_required")["inputRequests"].popitem()[0]
    assert one.get(task)["inputRequests"].keys() == {key}
    assert other.give(task, key, "accept")["resultType"] == "complete"
    done = wait_for(one, task, "completed")
    assert done["result"]["content"][0]["text"] == "steps is printed", done
    assert other.get(task) == done
    assert other.get("no-such-task")["code"] == -32602
    assert redis.list("printed")["steps"] == redis.list("agreed")["steps"] == 1


def cancelled_elsewhere(servers, redis):
    """A task is cancelled by the process that does not run it; the other one stops within its lease."""
    one, other = servers
    task = created(one, "cancelled", 80)
    key = wait_for(one, task, "input_required")["inputRequests"].popitem()[0]
    one.give(task, key, "accept")
    wait_until(lambda: redis.list("agreed")["cancelled"])
    assert "code" not in other.cancel(task)
    ended = other.get(task)
    assert ended["status"] == "cancelled", ended
    assert one.get(task) == ended
    # An answer, or another cancellation, changes nothing.
    for server in servers:
        server.give(task, key, "accept")
        server.cancel(task)
        assert server.get(task) == ended
    # It would have printed by then.
    time.sleep(6)
    assert one.get(task) == ended
    assert redis.list("agreed")["cancelled"] == 1
    assert redis.list("printed")["cancelled"] == 0, "the handler has not stopped"


def two_answers(servers, redis):
    """Both processes get the answer at the same time, ten times each: one of them prints."""
    titles = [f"twice {number}" for number in range(20)]

    def run(title):
        task = created(random.choice(servers), title, 1)
        key = wait_for(servers[0], task, "input_required")["inputRequests"].popitem()[0]
        with ThreadPoolExecutor(20) as pool:
            for given in [pool.submit(servers[n % 2].give, task, key, "accept") for n in range(20)]:
                assert "code" not in given.result(), given.result()
        return wait_for(servers[1], task, "completed")

    for title in titles:
        run(title)
    for name in "agreed", "printed":
        times = redis.list(name)
        assert all(times[title] == 1 for title in titles), (name, times)


def killed_while_it_prints(servers, redis):
    """The process that prints is killed: the other one says that the task has failed, not before the
    lease is over."""
    one, other = servers
    task = created(other, "killed", 100)
    key = wait_for(other, task, "input_required")["inputRequests"].popitem()[0]
    one.give(task, key, "accept")
    wait_until(lambda: redis.list("agreed")["killed"])
    one.kill()
    assert other.get(task)["status"] == "working"
    one.start()
    ended = wait_for(other, task, "failed", LEASE + 5)
    assert "process" in ended["error"]["message"], ended
    assert one.get(task) == ended
    assert redis.list("printed")["killed"] == 0


def storm(servers, redis, seed):
    drawn = random.Random(seed)
    over, kills = threading.Event(), [0, 0]

    def kill():
        while not over.wait(drawn.uniform(0.2, 1.2)):
            victim = drawn.randrange(2)
            servers[victim].kill()
            kills[victim] += 1
            over.wait(drawn.uniform(0, 0.3))
            servers[victim].start()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            orders = [Order(servers, number, drawn.getrandbits(64)) for number in range(TASKS)]
            for done in [pool.submit(order.run) for order in orders]:
                done.result()
    finally:
        over.set()
        killer.join()
    for order in orders:
        # It has ended once, and for good, whoever is asked.
        for server in servers:
            assert server.get(order.task) == order.ended, order
    agreed, printed = redis.list("agreed"), redis.list("printed")
    ends = collections.Counter()
    for order in orders:
        status = order.ended["status"]
        ends[status] += 1
        assert agreed[order.title] <= 1, f"{order}: its input was used {agreed[order.title]} times"
        assert printed[order.title] <= agreed[order.title], order
        if order.plan == "accept" and status == "completed":
            assert printed[order.title] == 1, order
        if order.plan == "decline":
            assert agreed[order.title] == 0, order
        assert status != "cancelled" or order.plan == "cancel", order
    assert sum(ends.values()) == TASKS and ends["completed"] >= TASKS // 4 and ends["failed"], ends
    assert all(kills), kills
    return f"{sum(kills)} kills, {dict(ends)}"


class Order:
    """A book that somebody wants: a task from its creation to its end, at whichever process is there."""

    def __init__(self, servers, number, seed):
        self.servers, self.number, self.drawn = servers, number, random.Random(seed)
        self.plan = self.drawn.choices(["accept", "decline", "cancel"], [8, 1, 1])[0]
        self.task = self.title = self.ended = None

    def __repr__(self):
        return f"{self.title} ({self.plan}), {self.task}: {self.ended}"

    def run(self):
        self.drawn_sleep(3)
        attempt = 0
        while not self.task:
            # If the process is killed before it has answered, nobody knows of the task.
            self.title = f"book {self.number}.{attempt}"
            attempt += 1
            answer = self.drawn.choice(self.servers)
            answer = self.at_once(answer.print, self.title, self.drawn.randrange(1, 20))
            self.task = answer and answer.get("taskId")
        until = time.monotonic() + LONGEST
        while not self.ended:
            assert time.monotonic() < until, f"{self} does not end"
            task = self.anywhere(Server.get, self.task)
            if task["status"] in ENDED:
                self.ended = task
            elif task["status"] == "input_required":
                (key,) = task["inputRequests"]
                if self.plan != "cancel" or self.drawn.random() < 0.5:
                    action = "decline" if self.plan == "decline" else "accept"
                    # An answer that is given twice is used once.
                    for _ in range(self.drawn.choice([1, 1, 2])):
                        self.anywhere(Server.give, self.task, key, action)
            if self.plan == "cancel" and self.drawn.random() < 0.3:
                self.anywhere(Server.cancel, self.task)
            self.drawn_sleep(0.2)

    def anywhere(self, ask, *arguments):
        """The answer of a process that is there; none may say that there is no such task."""
        until = time.monotonic() + LONGEST
        while True:
            server = self.drawn.choice(self.servers)
            answer = self.at_once(lambda: ask(server, *arguments))
            if answer is not None:
                assert "code" not in answer, f"{self}: {answer}"
                return answer
            assert time.monotonic() < until, f"no process answers for {self}"
            time.sleep(0.05)

    def at_once(self, ask, *arguments):
        try:
            return ask(*arguments)
        except (OSError, http.client.HTTPException):
            return None

    def drawn_sleep(self, longest):
        time.sleep(self.drawn.uniform(0, longest))


def created(server, title, pages):
    task = server.print(title, pages)
    assert task.get("resultType") == "task", task
    return task["taskId"]


def wait_for(server, task, status, seconds=10):
    until = time.monotonic() + seconds
    while (found := server.get(task))["status"] != status:
        assert time.monotonic() < until and found["status"] not in ENDED, (status, found)
        time.sleep(0.03)
    return found


def wait_until(is_done):
    until = time.monotonic() + 10
    while not is_done():
        assert time.monotonic() < until
        time.sleep(0.02)


main()
