"""Makes the calls of standard input in order, and prints their answers; JSON both. Run inside a Pod's network.

A call has address, port, protocol, method, path and headers. An answer has the status, the answering Pod if the program
`sample` answered, and the reason if there is no status. With `tls`, a call is TLS with that server name. Calls to one
address and port share a connection. With `together` many calls run at once. Standard library only.
"""

import http.client
import json
import socket
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor

LIMIT = 20.0


def connected(call):
    if not call.get("tls"):
        return http.client.HTTPConnection(call["address"], call["port"], timeout=LIMIT)
    context = ssl.create_default_context(cadata=call["authority"])
    connection = http.client.HTTPConnection(call["address"], call["port"], timeout=LIMIT)
    plain = socket.create_connection((call["address"], call["port"]), LIMIT)
    connection.sock = context.wrap_socket(plain, server_hostname=call["tls"])
    return connection


def by_http(call, connections):
    key = call["address"], call["port"], call.get("tls")
    connection = connections.pop(key, None) or connected(call)
    connection.putrequest(call["method"], call["path"], skip_host=True, skip_accept_encoding=True)
    for name, value in call["headers"].items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read().decode(errors="replace")
    if not response.will_close:
        connections[key] = connection
    return response.status, body


def by_tcp(call):
    with socket.create_connection((call["address"], call["port"]), LIMIT) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
    return (200, received.partition("\r\n\r\n")[2]) if received else (None, "closed")


def answer(call, connections):
    try:
        status, body = by_tcp(call) if call["protocol"] == "TCP" else by_http(call, connections)
    except (OSError, http.client.HTTPException) as error:
        return {"status": None, "pod": None, "why": f"{type(error).__name__}: {error}"}
    try:
        document = json.loads(body)
        pod, headers = document["pod"], {name.lower(): value for name, value in document["headers"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):  # a proxy's own answer, or a program's without a Pod
        pod, headers = None, {}
    return {"status": status, "pod": pod, "headers": headers, "why": "" if pod else body[:200]}


wanted = json.load(sys.stdin)
if wanted["together"] > 1:
    with ThreadPoolExecutor(wanted["together"]) as pool:
        answers = list(pool.map(lambda call: answer(call, {}), wanted["calls"]))
else:
    shared: dict[tuple[str, int, str | None], http.client.HTTPConnection] = {}
    answers = [answer(call, shared) for call in wanted["calls"]]
print(json.dumps(answers))
