"""Queries name servers every 100 ms until its standard input ends: ask_steadily.py FOLDER SERVER=NAME...

FOLDER has `ask_addresses.py`. Prints JSON by SERVER=NAME: the number of each answer, and of queries without a response.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PERIOD_SECONDS = 0.1


def ask_steadily(ask: Callable[[str, str], list[str]], query: str, done: threading.Event) -> dict[str, Any]:
    server, _, name = query.partition("=")
    answers: dict[str, int] = {}
    silent, due = 0, time.monotonic()
    while not done.is_set():
        try:
            found = " ".join(ask(server, name))
            answers[found] = answers.get(found, 0) + 1
        except OSError:
            silent += 1
        due = max(due + PERIOD_SECONDS, time.monotonic())
        done.wait(due - time.monotonic())
    return {"answers": answers, "silent": silent}


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    ask = importlib.import_module("ask_addresses").ask
    queries, done = sys.argv[2:], threading.Event()
    with ThreadPoolExecutor(len(queries)) as pool:
        running = {query: pool.submit(ask_steadily, ask, query, done) for query in queries}
        sys.stdin.read()
        done.set()
        print(json.dumps({query: one.result() for query, one in running.items()}))


main()
