"""A small fake of four clouds' DNS APIs, and external-dns in front of it: cloud.py SETTINGS.

The fake answers the requests of external-dns v0.21 alone, for one zone without quotas or validation. It verifies no
signature. external-dns uses its own HTTP clients and the clouds' real host names: a proxy on the loopback ends TLS
with a certificate of the test's authority.

Run it in a network namespace of its own: external-dns fixes the port of its webhook. SETTINGS: a JSON file with
`program`, `arguments`, `environment`, `folder`, `zone` and `changes`. It writes the file `result` in the folder:
`started`, `after` (status and records after each change), `records` and `weights` at the end, `log`. With `edge`, a
DNSEndpoint, it also runs the planning external-dns with `planner` as arguments and the sidecar's gate, until there are
`expected` records.
"""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from agents.dns_sidecar.api import path_of
from agents.dns_sidecar.edge_proxy import EMPTY, END_OF_LIST, acknowledged, is_watch
from agents.dns_sidecar.leader_gate import LeaderGate
from agents.dns_sidecar.webhook_server import serve as serve_webhook

PROXY, WEBHOOK, GATE, EDGE = 3128, 8888, 8889, 8890
MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
ROUTE53 = "https://route53.amazonaws.com/doc/2013-04-01/"
Answer = tuple[int, str]


class Cloud:
    """The records of one zone, by name and type, and Route 53's also by identifier. weights: of those."""

    def __init__(self, zone: str) -> None:
        self.zone, self.weights = zone, dict[str, str]()
        self.records: dict[str, list[str]] = {}
        self._ids: dict[str, str] = {}

    def answer(self, host: str, method: str, target: str, body: str) -> Answer:
        path, _, query = target.partition("?")
        if host == "api.cloudflare.com" and re.search(r"(^|&)page=[^1]", query):
            return 200, json.dumps(_page([]))  # its client reads pages until one is empty
        of_host: dict[str, Callable[[str, str, str], Any]] = {
            "oauth2.googleapis.com": lambda *_: {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"},
            "dns.googleapis.com": self._google,
            "login.microsoftonline.com": self._login,
            "login.microsoft.com": self._login,
            "management.azure.com": self._azure,
            "api.cloudflare.com": self._cloudflare,
            "route53.amazonaws.com": self._route53,
        }
        found = of_host[host](method, path, body)
        return (404, "{}") if found is None else (200, found if isinstance(found, str) else json.dumps(found))

    def _google(self, method: str, path: str, body: str) -> Any:
        if path.endswith("/managedZones"):
            return {"managedZones": [{"id": "1", "name": "z", "dnsName": f"{self.zone}.", "visibility": "public"}]}
        if path.endswith("/rrsets"):
            return {"rrsets": [{"name": f"{n}.", "type": t, "ttl": 300, "rrdatas": v} for n, t, v in self._all()]}
        if method == "POST" and path.endswith("/changes"):
            found = json.loads(body)
            for one in found.get("deletions") or []:
                del self.records[_key(one["name"], one["type"])]
            for one in found.get("additions") or []:
                self.records[_key(one["name"], one["type"])] = one["rrdatas"]
            return {"status": "done"}
        return None

    def _login(self, _method: str, path: str, _body: str) -> Any:
        base = "https://login.microsoftonline.com/tenant"
        if path.endswith("/discovery/instance"):
            hosts = ["login.microsoftonline.com", "login.microsoft.com"]
            metadata = [{"preferred_network": hosts[0], "preferred_cache": hosts[0], "aliases": hosts}]
            found = f"{base}/v2.0/.well-known/openid-configuration"
            return {"tenant_discovery_endpoint": found, "api-version": "1.1", "metadata": metadata}
        if path.endswith("/openid-configuration"):
            tokens = {"token_endpoint": f"{base}/oauth2/v2.0/token", "issuer": f"{base}/v2.0"}
            return {**tokens, "authorization_endpoint": f"{base}/oauth2/v2.0/authorize"}
        return {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}

    def _azure(self, method: str, path: str, body: str) -> Any:
        zones = r"(?i)/subscriptions/S/resourceGroups/G/providers/Microsoft.Network/dnsZones"
        if re.fullmatch(zones, path):
            return {"value": [{"id": f"{path}/{self.zone}", "name": self.zone}]}
        if re.fullmatch(f"{zones}/{self.zone}/(all|recordsets)", path):
            return {"value": [self._azure_set(*one) for one in self._all()]}
        if found := re.fullmatch(f"{zones}/{self.zone}/([A-Z]+)/(.+)", path):
            key = _key(f"{found[2]}.{self.zone}", found[1])
            if method == "DELETE":
                del self.records[key]
                return {}
            sent = json.loads(body)["properties"]
            addresses = [one["ipv4Address"] for one in sent.get("ARecords") or []]
            self.records[key] = addresses + [" ".join(one["value"]) for one in sent.get("TXTRecords") or []]
            return self._azure_set(key.split()[0], found[1], self.records[key])
        return None

    def _azure_set(self, name: str, kind: str, values: list[str]) -> Any:
        properties = {"TTL": 300, "ARecords": [{"ipv4Address": one} for one in values]}
        if kind == "TXT":
            properties = {"TTL": 300, "TXTRecords": [{"value": [one]} for one in values]}
        relative = name.removesuffix(f".{self.zone}")
        return {"name": relative, "type": f"Microsoft.Network/dnszones/{kind}", "properties": properties}

    def _cloudflare(self, method: str, path: str, body: str) -> Any:
        if path == "/client/v4/zones":
            return _page([{"id": "z1", "name": self.zone, "plan": {"is_subscribed": True}}])
        if path == "/client/v4/zones/z1/dns_records" and method == "GET":
            kept = [(f"{n} {t}", n, t, value) for n, t, values in self._all() for value in values]
            return _page([{"id": i, "name": n, "type": t, "content": v, "ttl": 300} for i, n, t, v in kept])
        if path == "/client/v4/zones/z1/dns_records/batch":
            found = json.loads(body)
            for one in found.get("deletes") or []:
                del self.records[one["id"]]
            for one in found.get("posts") or []:
                self.records[_key(one["name"], one["type"])] = [one["content"]]
            return {"success": True, "errors": [], "messages": [], "result": {}}
        return None

    def _route53(self, method: str, path: str, body: str) -> Any:
        if path.endswith("/hostedzone"):
            zone = f"<Id>/hostedzone/Z1</Id><Name>{self.zone}.</Name><CallerReference>r</CallerReference>"
            zone = f"<HostedZone>{zone}<Config><PrivateZone>false</PrivateZone></Config></HostedZone>"
            return _xml("ListHostedZonesResponse", f"<HostedZones>{zone}</HostedZones>{_LAST_PAGE}")
        if path.endswith("/rrset") and method == "GET":
            sets = "".join(
                f"<ResourceRecordSet><Name>{n}.</Name><Type>{t.split()[0]}</Type>{self._routing(n, t)}<TTL>300</TTL>"
                "<ResourceRecords>"
                + "".join(f"<ResourceRecord><Value>{one}</Value></ResourceRecord>" for one in v)
                + "</ResourceRecords></ResourceRecordSet>"
                for n, t, v in self._all()
            )
            return _xml(
                "ListResourceRecordSetsResponse", f"<ResourceRecordSets>{sets}</ResourceRecordSets>{_LAST_PAGE}"
            )
        if method == "POST":
            space = {"r": ROUTE53}
            for one in ElementTree.fromstring(body).findall(".//r:Change", space):
                name, kind, identifier, weight = (
                    one.findtext(f".//r:{each}", "", space) for each in ("Name", "Type", "SetIdentifier", "Weight")
                )
                key = _key(name, f"{kind} {identifier}".strip())
                if bool(identifier) != bool(weight):
                    return None  # as Route 53: an identifier requires a routing policy
                if one.findtext("r:Action", "", space) == "DELETE":
                    del self.records[key]
                    continue
                self.records[key] = [str(each.text) for each in one.findall(".//r:Value", space)]
                self.weights |= {key: weight} if weight else {}
            info = "<Id>/change/1</Id><Status>INSYNC</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt>"
            return _xml("ChangeResourceRecordSetsResponse", f"<ChangeInfo>{info}</ChangeInfo>")
        return None

    def _routing(self, name: str, kind: str) -> str:
        weight = self.weights.get(f"{name} {kind}")
        identifier = kind.partition(" ")[2]
        return f"<SetIdentifier>{identifier}</SetIdentifier><Weight>{weight}</Weight>" if weight else ""

    def _all(self) -> list[tuple[str, str, list[str]]]:
        return [(*_split(key), values) for key, values in sorted(self.records.items())]


_LAST_PAGE = "<IsTruncated>false</IsTruncated><MaxItems>100</MaxItems>"


def _xml(name: str, content: str) -> str:
    return f'<?xml version="1.0"?><{name} xmlns="{ROUTE53}">{content}</{name}>'


def _page(found: list[Any]) -> Any:
    info = {"page": 1, "per_page": 100, "count": len(found), "total_count": len(found), "total_pages": 1}
    return {"success": True, "errors": [], "messages": [], "result": found, "result_info": info}


def _key(name: str, kind: str) -> str:
    return f"{name.removesuffix('.')} {kind}"


def _split(key: str) -> tuple[str, str]:
    name, _, kind = key.partition(" ")
    return name, kind


def serve(cloud: Cloud, folder: Path) -> None:
    """The proxy: `CONNECT HOST:443`, then TLS with the test's certificate, then requests."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    listener = socket.create_server(("127.0.0.1", PROXY))

    def connection(plain: socket.socket) -> None:
        with plain.makefile("rb") as stream:
            host = stream.readline().split()[1].decode().partition(":")[0]
            while stream.readline().strip():
                pass
        plain.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with context.wrap_socket(plain, server_side=True) as secured, secured.makefile("rb") as stream:
            while line := stream.readline().decode():
                headers = {}
                while header := stream.readline().decode().strip():
                    name, _, value = header.partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", 0))).decode()
                method, target, _ = line.split()
                status, text = cloud.answer(host, method, target, body)
                if status != 200:
                    print(f"the fake has no answer to {host} {line.strip()}", file=sys.stderr)
                kind = "application/xml" if text.startswith("<") else "application/json"
                head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text.encode())}\r\n\r\n"
                secured.sendall(head.encode() + text.encode())

    while True:
        threading.Thread(target=connection, args=(listener.accept()[0],), daemon=True).start()


def request(method: str, path: str, body: Any = None) -> int:
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE}
    found = urllib.request.Request(f"http://127.0.0.1:{WEBHOOK}{path}", sent, headers, method=method)
    try:
        with urllib.request.urlopen(found, timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


class HeldLease:
    """The Lease of the only replica."""

    is_terminating, term = False, 1
    writing = threading.Lock()

    def held(self) -> bool:
        return True

    def wait(self, _seconds: float) -> bool:
        return True

    def report_refusal(self, text: str) -> None:
        print(f"refusal: {text}", file=sys.stderr)


def serve_edge(item: dict[str, Any]) -> None:
    """An API server with one DNSEndpoint, as the sidecar's proxy returns it to external-dns."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            found: Any = EMPTY.get(path)
            if path == path_of(""):
                found = {**EMPTY[path], "items": [acknowledged(item)]}
            lines = [json.dumps(found)]
            if is_watch(self.path):
                lines = [json.dumps({"type": "ADDED", "object": acknowledged(item)})]
                lines.append(json.dumps({"type": "BOOKMARK", "object": END_OF_LIST}))
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write("\n".join(lines).encode() + b"\n")
            if is_watch(self.path):
                time.sleep(300)

        def log_message(self, template: str, *values: object) -> None:
            """Logs nothing."""

    http.server.ThreadingHTTPServer(("127.0.0.1", EDGE), Handler).serve_forever()


def publish(given: dict[str, Any], cloud: Cloud, log: Any) -> None:
    """The planning external-dns and the sidecar's gate, until the cloud has `expected` records or a minute is over."""

    gate = LeaderGate(HeldLease(), WEBHOOK, 5)
    for run in (lambda: serve_edge(given["edge"]), lambda: serve_webhook(gate, GATE)):
        threading.Thread(target=run, daemon=True).start()
    kubeconfig = {
        "clusters": [{"name": "edge", "cluster": {"server": f"http://127.0.0.1:{EDGE}"}}],
        "contexts": [{"name": "edge", "context": {"cluster": "edge"}}],
        "current-context": "edge",
    }
    Path(given["kubeconfig"]).write_text(json.dumps(kubeconfig))
    deadline = time.monotonic() + 60
    with subprocess.Popen([given["program"], *given["planner"]], env={}, stdout=log, stderr=log) as planning:
        while len(cloud.records) < given["expected"] and time.monotonic() < deadline:
            time.sleep(0.1)
        planning.kill()


def starts(running: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        try:
            if request("GET", "/") == 200:
                return True
        except OSError:
            time.sleep(0.1)
    return False


def set_loopback_up() -> None:
    with socket.socket() as any_socket:
        flags = struct.pack("16sh14x", b"lo", 1)
        fcntl.ioctl(any_socket, 0x8914, flags)  # SIOCSIFFLAGS, IFF_UP


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text())
    set_loopback_up()
    cloud, folder = Cloud(given["zone"]), Path(given["folder"])
    threading.Thread(target=serve, args=(cloud, folder), daemon=True).start()
    environment = {"PATH": os.environ["PATH"], "HTTPS_PROXY": f"http://127.0.0.1:{PROXY}", **given["environment"]}
    environment["SSL_CERT_FILE"] = str(folder / "ca.crt")
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([given["program"], *given["arguments"]], env=environment, stdout=log, stderr=log)
        started, after = starts(running), []
        for changes in given["changes"] if started else ():
            status = [request("GET", "/records"), request("POST", "/records", changes)]
            after.append({"status": status, "records": dict(sorted(cloud.records.items()))})
        if given.get("edge"):
            publish(given, cloud, log)
        running.kill()
        running.wait()
    found = {"started": started, "after": after, "records": cloud.records, "weights": cloud.weights}
    (folder / "result").write_text(json.dumps({**found, "log": (folder / "log").read_text()}))


if __name__ == "__main__":
    main()
