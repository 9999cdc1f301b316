"""Sends the debug proxy a request as istioctl does: address, server name, root certificate's file, token, type, names.

Prints the answer's size, or gRPC's code and text. In DiscoveryRequest (envoy/service/discovery/v3/discovery.proto)
`resource_names` and `type_url` are fields 3 and 4.
"""

import sys
from pathlib import Path
from typing import Any

import grpc

address, host, root, token, type_url, *names = sys.argv[1:]
SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"


def field(number: int, text: str) -> bytes:
    value = text.encode()
    assert len(value) < 128, "its length is one byte"
    return bytes([number << 3 | 2, len(value)]) + value


request = b"".join([*(field(3, name) for name in names), field(4, type_url)])
channel = grpc.secure_channel(
    address,
    grpc.ssl_channel_credentials(Path(root).read_bytes()),
    [("grpc.ssl_target_name_override", host), ("grpc.enable_http_proxy", 0)],
)
stream: Any = channel.stream_stream(f"/{SERVICE}/StreamAggregatedResources")
try:
    answer = next(stream(iter([request]), timeout=30, metadata=[("authorization", f"Bearer {token}")]))
except grpc.RpcError as refused:
    error: Any = refused
    print(f"{error.code().name}: {error.details()}")
else:
    print(f"answered: {len(answer)} bytes")
