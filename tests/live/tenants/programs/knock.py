"""Connects to a gateway: knock.py ADDRESS PORT plain|NAME|- [CERTIFICATE]. `-` sends no server name.

Prints `answered` if the other side sends a byte after an HTTP/2 preface, else `refused`. CERTIFICATE: a PEM file with
certificate, chain and key of a client. Standard library only.
"""

import socket
import ssl
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])

address, port, name, *certificate = sys.argv[1:]
try:
    with socket.create_connection((address, int(port)), timeout=10) as plain:
        if name == "plain":
            plain.sendall(b"GET / HTTP/1.1\r\nhost: istiod\r\n\r\n")
            answer = plain.recv(1)
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            if certificate:
                context.load_cert_chain(certificate[0])
            with context.wrap_socket(plain, server_hostname=None if name == "-" else name) as secured:
                secured.sendall(PREFACE)
                answer = secured.recv(1)
except OSError:
    answer = b""
print("answered" if answer else "refused")
