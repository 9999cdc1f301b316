"""Programs outside of the meshes: an HTTP server, a TLS server, and a proxy that accepts CONNECT. No library.

Arguments: an address, the ports of the three, and the files of the TLS server's certificate and key. The servers answer
as the image `sample` does, with their name as Pod. `/sleep` takes a second. The proxy leads every host to the TLS
server. Prints a line for each request and each CONNECT, after `ready`; ends with standard input.
"""

import http.server
import json
import select
import socket
import ssl
import sys
import threading
import time

ADDRESS, HTTP, TLS, PROXY, CERTIFICATE, KEY = sys.argv[1], *map(int, sys.argv[2:5]), *sys.argv[5:7]


def say(*words):
    print(*words, flush=True)


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        say(self.server.name, self.command, self.headers["Host"], self.path)
        if self.path == "/sleep":
            time.sleep(1)
        body = json.dumps({"pod": self.server.name, "path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(name, port, context=None):
    server = Quiet((ADDRESS, port), Server)
    server.name = name
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def tunnel(client):
    with client, client.makefile("rb") as lines:
        first = lines.readline().decode()
        while lines.readline().strip():
            pass
        say("proxy", *first.split()[:2])
        if not first.startswith("CONNECT "):
            client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            return
        with socket.create_connection((ADDRESS, TLS)) as server:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            pairs = {client: server, server: client}
            while True:
                for one in select.select(list(pairs), [], [])[0]:
                    if not (received := one.recv(65536)):
                        return
                    pairs[one].sendall(received)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
serve("outside", HTTP)
serve("outside-tls", TLS, context)
listener = socket.create_server((ADDRESS, PROXY))


def accept():
    while True:
        threading.Thread(target=tunnel, args=(listener.accept()[0],), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()
say("ready")
sys.stdin.read()
