"""Connects to istiod as a proxy does: xds.py ADDRESS NAME ROOT CERTIFICATE CLUSTER SECONDS THREADS PAUSE.

Each connection is new: a TLS handshake with the certificate, an ADS stream, a request for clusters, and the answer.
Prints as JSON the seconds that each answer took, and the reason of each connection without one. CERTIFICATE: a PEM file
with certificate, chain and key. CLUSTER: of the caller, by Istio's name. The messages are Envoy's, written by hand:
every Python with gRPC has Struct.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.struct_pb2 import Struct

NAMESPACE, ACCOUNT = "bookshop", "frontend"
TYPE = b"type.googleapis.com/envoy.config.cluster.v3.Cluster"
LIMIT = 20.0
ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

address, name, root, certificate, cluster, seconds, threads, pause = sys.argv[1:]
until = time.monotonic() + float(seconds)
answered, failed = list[float](), list[str]()
pair = Path(certificate).read_bytes()
credentials = grpc.ssl_channel_credentials(Path(root).read_bytes(), pair, pair)
options = [
    ("grpc.ssl_target_name_override", name),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
]


def part(number: int, content: bytes) -> bytes:
    """A field of a message with a length."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def request(number: int) -> bytes:
    """A proxy's first DiscoveryRequest."""
    metadata = Struct()
    values = {"NAMESPACE": NAMESPACE, "SERVICE_ACCOUNT": ACCOUNT, "CLUSTER_ID": cluster, "ISTIO_VERSION": "1.31.1"}
    metadata.update(values)
    called = f"sidecar~10.0.0.{number % 250 + 1}~{ACCOUNT}-{number}.{NAMESPACE}~{NAMESPACE}.svc.cluster.local"
    node = part(1, called.encode()) + part(3, metadata.SerializeToString())
    return part(2, node) + part(4, TYPE)


def connect(number: int) -> None:
    began = time.monotonic()
    try:
        with grpc.secure_channel(address, credentials, options) as channel:
            stream: Any = channel.stream_stream(ADS)
            asked = threading.Event()

            def requests() -> Any:
                yield request(number)
                asked.wait(LIMIT)  # an ended request stream would end the answers

            answers = stream(requests(), timeout=LIMIT, wait_for_ready=False)
            try:
                next(answers)
                answered.append(time.monotonic() - began)
            finally:
                asked.set()
                answers.cancel()
    except grpc.RpcError as error:
        failed.append(f"{error.code().name} {error.details()}")


def run(number: int) -> None:
    while time.monotonic() < until:
        connect(number)
        time.sleep(float(pause))


running = [threading.Thread(target=run, args=[number]) for number in range(int(threads))]
for one in running:
    one.start()
for one in running:
    one.join()
print(json.dumps({"answered": answered, "failed": failed}))
