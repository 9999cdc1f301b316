"""GETs a URL of the image `sample`'s /fetch until standard input ends; prints how often it got which answer, as JSON.

A line `begun` comes before it, after the first answer.

An answer is the status that /fetch got, and the Pod that said so: "200 reviews-5d4f"; without one, why and after how
many seconds. Standard library only.
"""

import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ended = threading.Event()


def wait() -> None:
    sys.stdin.read()
    ended.set()


def ask() -> str:
    begun = time.monotonic()
    try:
        with opener.open(sys.argv[1], timeout=20) as response:
            answer = json.loads(response.read())
    except OSError as error:
        why = error.read().decode(errors="replace") if isinstance(error, urllib.error.HTTPError) else ""
        return f"{error} {why.strip()} after {time.monotonic() - begun:.1f} s"
    try:
        return f"{answer['status']} {json.loads(answer['body'])['pod']}"
    except (ValueError, KeyError, TypeError):  # the proxy's own answer
        return f"{answer['status']} {answer['body'][:80]}"


threading.Thread(target=wait, daemon=True).start()
counts: Counter[str] = Counter()
while not ended.is_set():
    counts[ask()] += 1
    if counts.total() == 1:
        print("begun", flush=True)
    ended.wait(0.02)
print(json.dumps(counts))
