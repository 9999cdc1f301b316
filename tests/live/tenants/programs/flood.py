"""Opens connections to a gateway as fast as it can: flood.py ADDRESS PORT NAME SECONDS.

Each is a TLS handshake and an HTTP/2 preface, then it is closed. Prints the number of connections, and of those that
the other side closed before it answered. Standard library only.
"""

import socket
import ssl
import sys
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
THREADS = 16

address, port, name, seconds = sys.argv[1:]
until = time.monotonic() + float(seconds)
made, closed = [0] * THREADS, [0] * THREADS
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["h2"])


def connect(number: int) -> None:
    while time.monotonic() < until:
        made[number] += 1
        try:
            with (
                socket.create_connection((address, int(port)), timeout=5) as plain,
                context.wrap_socket(plain, server_hostname=name) as secured,
            ):
                secured.sendall(PREFACE)
                if not secured.recv(1):
                    closed[number] += 1
        except OSError:
            closed[number] += 1


threads = [threading.Thread(target=connect, args=[number]) for number in range(THREADS)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(sum(made), sum(closed))
