"""Sends a request for each plan: `send_traced.py ADDRESS PORT HOST PLANS`.

PLANS: JSON, a list of a status and headers each. Prints the statuses of the answers, as JSON. Each request has a
connection of its own. Standard library only.
"""

import http.client
import json
import sys

address, port, host, plans = sys.argv[1:]
answers = []
for status, headers in json.loads(plans):
    connection = http.client.HTTPConnection(address, int(port), timeout=10)
    connection.request("GET", f"/status/{status}", headers={"Host": host, **headers})
    with connection.getresponse() as response:
        response.read()
        answers.append(response.status)
    connection.close()
print(json.dumps(answers))
