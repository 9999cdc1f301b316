"""Sends requests to an API server: api_requests.py ADDRESS PORT TOKEN PATH SECONDS THREADS PAUSE.

TOKEN: `-` for none. Each thread has a connection of its own and sends one request after the other. Prints as JSON the
number of requests by HTTP's code, and the seconds that each took; a connection that fails counts as `failed`. Standard
library only.
"""

import collections
import http.client
import json
import ssl
import sys
import threading
import time

LIMIT = 20

address, port, token, path, seconds, threads, pause = sys.argv[1:]
until = time.monotonic() + float(seconds)
codes: collections.Counter[str] = collections.Counter()
took = list[float]()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
headers = {} if token == "-" else {"Authorization": f"Bearer {token}"}


def ask() -> None:
    connection = http.client.HTTPSConnection(address, int(port), context=context, timeout=LIMIT)
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            codes[str(answer.status)] += 1
            took.append(time.monotonic() - began)
        except (OSError, http.client.HTTPException):
            codes["failed"] += 1
            connection.close()
        time.sleep(float(pause))


running = [threading.Thread(target=ask) for _ in range(int(threads))]
for one in running:
    one.start()
for one in running:
    one.join()
print(json.dumps({"codes": codes, "seconds": took}))
