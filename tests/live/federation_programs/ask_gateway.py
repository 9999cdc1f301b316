"""Asks a gateway for / with a certificate: address, port, server name, and a file of certificate, chain and key.

Prints the status, or `refused` if the gateway ended the connection instead. Standard library only.
"""

import socket
import ssl
import sys

address, port, name, shown = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.load_cert_chain(shown)
with socket.create_connection((address, int(port)), timeout=20) as plain:
    try:
        with context.wrap_socket(plain, server_hostname=name) as secured:
            secured.sendall(f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n".encode())
            print(secured.recv(64).split()[1].decode())
    except (ssl.SSLError, ConnectionError) as error:
        if isinstance(error, ssl.SSLError) and "ALERT" not in str(error.reason):
            raise
        print("refused")
