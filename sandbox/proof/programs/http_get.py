"""GET one URL and print {"status", "headers", "body"} as JSON. Run inside a network namespace; stdlib only."""

import json
import sys
import urllib.error
import urllib.request

# A proxy variable of the caller must not send the request out of this network.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    answer = opener.open(sys.argv[1], timeout=10)
except urllib.error.HTTPError as refused:
    answer = refused
with answer:
    print(
        json.dumps(
            {
                "status": answer.status,
                "headers": dict(answer.headers),
                "body": answer.read().decode(errors="replace"),
            }
        )
    )
