"""An operator's webhooks and aggregated API, over TLS with the certificate that OLM mounts. Standard library only.

Arguments: port, certificate, key. POST /validate rejects Gadgets with a count above 10; POST /convert converts between
v1alpha1 (`spec.size`) and v1 (`spec.count`); GET /apis/views.example.com/v1/... lists one View.
"""

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MOST = 10
VIEWS = "views.example.com"
FIELDS = {"example.com/v1alpha1": "size", "example.com/v1": "count"}


def validated(review: dict[str, Any]) -> dict[str, Any]:
    request = review["request"]
    found: dict[str, Any] = {"uid": request["uid"], "allowed": request["object"]["spec"]["count"] <= MOST}
    if not found["allowed"]:
        found["status"] = {"message": f"spec.count is at most {MOST}"}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": found}


def converted(review: dict[str, Any]) -> dict[str, Any]:
    request = review["request"]
    wanted = request["desiredAPIVersion"]

    def moved(one: dict[str, Any]) -> dict[str, Any]:
        number = one.get("spec", {}).get(FIELDS[one["apiVersion"]], 0)
        return {**one, "apiVersion": wanted, "spec": {FIELDS[wanted]: number}}

    objects = [moved(one) for one in request["objects"]]
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}


def answer(path: str) -> dict[str, Any] | None:
    """Of the aggregated API."""
    version = {"groupVersion": f"{VIEWS}/v1", "version": "v1"}
    group = {"name": VIEWS, "versions": [version], "preferredVersion": version}
    view = {"apiVersion": f"{VIEWS}/v1", "kind": "View", "metadata": {"name": "one", "namespace": "default"}}
    resource = {"name": "views", "singularName": "view", "kind": "View", "namespaced": True, "verbs": ["get", "list"]}
    found: dict[str, dict[str, Any]] = {
        "/apis": {"apiVersion": "v1", "kind": "APIGroupList", "groups": [group]},
        f"/apis/{VIEWS}": {"apiVersion": "v1", "kind": "APIGroup", **group},
        f"/apis/{VIEWS}/v1": {"kind": "APIResourceList", "groupVersion": f"{VIEWS}/v1", "resources": [resource]},
        f"/apis/{VIEWS}/v1/namespaces/default/views": {
            "apiVersion": f"{VIEWS}/v1",
            "kind": "ViewList",
            "metadata": {},
            "items": [view],
        },
    }
    return found.get(path)


class Handler(BaseHTTPRequestHandler):
    def send(self, document: dict[str, Any] | None) -> None:
        body = json.dumps(document or {}).encode()
        self.send_response(200 if document else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send(answer(self.path.partition("?")[0]))

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send({"/validate": validated, "/convert": converted}[self.path.partition("?")[0]](review))


def main() -> None:
    port, certificate, key = sys.argv[1:]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("", int(port)), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
