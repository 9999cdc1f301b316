"""Receives spans (OTLP, gRPC) at port 4317, and serves them as JSON at port 4318: `[service, kind, status, trace]`.

Runs in a Pod with the collector's image: it has grpcio, and the collector's messages.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import grpc

sys.path.insert(0, "/opt/hosted-mesh")
from metrics_collector import telemetry_messages  # type: ignore[import-not-found]  # in the image

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
spans: list[list[object]] = []


def export(raw, context):
    for resource in telemetry_messages.ExportTraceServiceRequest.FromString(raw).resource_spans:
        service = {one.key: one.value.string_value for one in resource.resource.attributes}
        for span in resource.scope_spans[0].spans:
            attributes = {one.key: one.value.string_value for one in span.attributes}
            status = attributes.get("http.status_code", "")
            spans.append([service, span.kind, status, span.trace_id.hex()])
    return b""


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(spans).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = grpc.server(ThreadPoolExecutor(4))
handler: Any = grpc.unary_unary_rpc_method_handler(export)
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Export": handler}),))
server.add_insecure_port("0.0.0.0:4317")
server.start()
HTTPServer(("0.0.0.0", 4318), Page).serve_forever()
