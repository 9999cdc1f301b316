"""Asks a gateway for / with a certificate: address, port, server name, and a file of certificate, chain and key.

Prints the status, or `refused` if the gateway showed its own certificate and then took none from here. Standard library
only.
"""

import socket
import ssl
import sys

address, port, name, shown = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
# So that a client's handshake is done before its certificate is judged: what fails then fails for that.
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.load_cert_chain(shown)
with (
    socket.create_connection((address, int(port)), timeout=20) as plain,
    context.wrap_socket(plain, server_hostname=name) as secured,
):
    try:
        secured.sendall(f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n".encode())
        print(secured.recv(64).split()[1].decode())
    except (ssl.SSLError, ConnectionError):
        print("refused")
