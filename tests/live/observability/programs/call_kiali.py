"""Calls Kiali's API, with a session of a token if one is on standard input; prints {"status", "body"} as JSON.

Run inside a network namespace; stdlib only. Arguments: Kiali's address, and the path below /api.
"""

import http.cookiejar
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

address, path = sys.argv[1:]
token = sys.stdin.read().strip()
cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
# A proxy variable of the caller must not send the request out of this network.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)


def call(page: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    data = urllib.parse.urlencode(form).encode() if form else None
    try:
        answer = opener.open(f"{address}/api/{page}", data=data, timeout=30)
    except urllib.error.HTTPError as refused:
        answer = refused
    with answer:
        return answer.status, answer.read().decode(errors="replace")


status, body = call("authenticate", {"token": token}) if token else (200, "")
if status == 200:
    status, body = call(path)
print(json.dumps({"status": status, "body": body}))
