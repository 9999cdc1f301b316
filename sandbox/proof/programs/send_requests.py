"""Sends a number of requests for each status: `send_requests.py ADDRESS PORT HOST STATUS=NUMBER...`.

Prints the number of answers by status, as JSON. Each request has a connection of its own. Standard library only.
"""

import collections
import http.client
import json
import sys

address, port, host, *plan = sys.argv[1:]
answers = collections.Counter[int]()
for status, number in (one.split("=") for one in plan):
    for _ in range(int(number)):
        connection = http.client.HTTPConnection(address, int(port), timeout=10)
        connection.request("GET", f"/status/{status}", headers={"Host": host})
        with connection.getresponse() as response:
            response.read()
            answers[response.status] += 1
        connection.close()
print(json.dumps(answers))
