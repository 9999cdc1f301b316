"""Requests certificates of istiod with large requests: large_requests.py ADDRESS NAME ROOT TOKEN CLUSTER BYTES SECONDS.

Each is a valid request with a name of so many bytes. Prints as JSON the number of requests by gRPC's code.
"""

import collections
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from google.protobuf.wrappers_pb2 import StringValue

THREADS = 4

address, name, root, token, cluster, size, seconds = sys.argv[1:]
until = time.monotonic() + float(seconds)
codes: collections.Counter[str] = collections.Counter()
key = ec.generate_private_key(ec.SECP256R1())
names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier("spiffe://" + "a" * int(size))])
made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).add_extension(names, critical=False)
message = StringValue(value=made.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()).SerializeToString()
credentials = grpc.ssl_channel_credentials(Path(root).read_bytes())
options = [
    ("grpc.ssl_target_name_override", name),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", -1),
]


def ask() -> None:
    with grpc.secure_channel(address, credentials, options) as channel:
        create: Any = channel.unary_unary("/istio.v1.auth.IstioCertificateService/CreateCertificate")
        while time.monotonic() < until:
            try:
                create(message, timeout=20, metadata=[("authorization", f"Bearer {token}"), ("clusterid", cluster)])
                codes["OK"] += 1
            except grpc.RpcError as error:
                codes[error.code().name] += 1


running = [threading.Thread(target=ask) for _ in range(THREADS)]
for one in running:
    one.start()
for one in running:
    one.join()
print(json.dumps(codes))
