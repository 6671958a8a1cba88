"""A client that behaves well: calls `echo` until its input ends, then prints how often it was served
and how long it waited at most, in milliseconds. Usage: polite.py HOST PORT legacy|modern"""

import select
import sys
import time

import wire


def main(host, port, era):
    client = wire.Client((host, int(port)))
    session = wire.open_session(client)[0] if era == "legacy" else None
    count, worst = 0, 0.0
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        text = f"{era} {count}"
        start = time.monotonic()
        if session:
            status, _, body = client.ask(wire.legacy(session, "echo", {"message": text}, count))
        else:
            status, _, body = client.ask(wire.modern("echo", {"message": text}, count))
        worst = max(worst, time.monotonic() - start)
        assert status == 200 and f'"{text}"' in body, (status, body)
        count += 1
    print(count, round(worst * 1000))


main(*sys.argv[1:])
