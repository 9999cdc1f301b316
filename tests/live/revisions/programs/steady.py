"""GETs http://ADDRESS:PORT/ as HOST every 50 ms until standard input ends, by a kept connection or by new ones.

steady.py ADDRESS PORT HOST kept|new FILE. FILE always has the counts so far, as JSON: how many requests were sent, and
the reason of each that was not answered with 200. Standard library only.
"""

import http.client
import json
import sys
import threading
import time
from pathlib import Path

PERIOD, LIMIT = 0.05, 10.0
address, port, host, mode, file = sys.argv[1:]
ended = threading.Event()


def wait() -> None:
    sys.stdin.read()
    ended.set()


def ask(connection: http.client.HTTPConnection) -> str:
    """Empty for an answer; else the reason that there is none."""
    try:
        connection.request("GET", "/", headers={"Host": host})
        with connection.getresponse() as response:
            body = response.read()
            if response.will_close:
                connection.close()
            return "" if response.status == 200 else f"{response.status} {body[:80]!r}"
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return f"{type(error).__name__} {error}"


def write(sent: int, lost: list[str]) -> None:
    partial = Path(f"{file}.part")
    partial.write_text(json.dumps({"sent": sent, "lost": lost}))
    partial.replace(file)


threading.Thread(target=wait, daemon=True).start()
connection = http.client.HTTPConnection(address, int(port), timeout=LIMIT)
sent, lost = 0, list[str]()
begun = written = time.monotonic()
while not ended.is_set():
    sent += 1
    if why := ask(connection):
        lost.append(f"{time.time():.1f} {why}")
    if mode == "new":
        connection.close()
    now = time.monotonic()
    if now - written > 0.2 or why:
        write(sent, lost)
        written = now
    # A late answer is not followed by a burst.
    ended.wait(max(0.0, PERIOD - (now - begun) % PERIOD))
write(sent, lost)
