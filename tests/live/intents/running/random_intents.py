"""Random intents from a seed, and all calls of the services: caller, callee, method, path, token."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi_hosted_mesh.intents.calls import Call
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.live.intents.running.shop import (
    MESH,
    PORT,
    SERVICES,
    TCP_PORT,
    Document,
    Shop,
    compiled,
    document,
    host,
    key,
)
from tests.live.intents.running.tokens import Issuer

METHODS = ("GET", "POST", "DELETE")
PATTERNS = ("/", "/*", "/reviews/*", "/reviews/1", "/reviews*", "/admin/keys", "/admin/*")
PATHS = (
    "/",
    "/reviews",
    "/reviews/",
    "/reviews/1",
    "/reviews/1?page=/admin/keys",
    "/reviews/../admin/keys",
    "/reviews/%2e%2e/admin/keys",
    "//admin/keys",
    "/admin/keys",
    "/admin/%6beys",
    "/Reviews/1",
)
ISSUER = "https://issuer.sandbox.test"
ROLES = ("editor", "guest")


def random_document(seed: int, issuer: Issuer, addresses: Mapping[str, str]) -> Document:
    """A document without contradictions: the first of the seed's that compiles. addresses: of services' Pods."""
    for attempt in itertools.count():
        made = _Maker(random.Random(f"{seed}/{attempt}"), issuer, addresses).document()
        try:
            compiled(made)
        except InvalidInputError:
            continue
        return made
    raise AssertionError


class _Maker:
    def __init__(self, source: random.Random, issuer: Issuer, addresses: Mapping[str, str]) -> None:
        self.source, self.issuer, self.addresses = source, issuer, addresses

    def document(self) -> Document:
        intents = [self.intent(number) for number in range(self.source.randint(1, 6))]
        more: Document = {"defaultDeny": self.source.choice(("namespace", "namespace", "mesh", "none"))}
        if self.maybe(0.5):
            more["namespaces"] = self.some(sorted({*SERVICES.values()}))
        return document(*intents, **more)

    def intent(self, number: int) -> Document:
        callee = self.source.choice(sorted(SERVICES))
        callers = self.some(sorted({*SERVICES} - {callee}))
        is_tcp = self.maybe(0.2)
        intent: Document = {
            "type": self.source.choice(("intra-cluster", "intra-cluster", "inter-cluster")),
            "name": f"intent-{number}",
            "service": {"name": callee, "namespace": SERVICES[callee], "port": TCP_PORT if is_tcp else PORT},
            "clients": [self.client(one) for one in callers],
        }
        if is_tcp:
            intent["service"]["protocol"] = "TCP"
        if not is_tcp and self.maybe(0.25):
            intent["jwt"] = {"issuer": ISSUER, "jwks": self.issuer.jwks}
        if self.maybe(0.8):
            rules = [self.rule(callers, is_tcp=is_tcp, jwt="jwt" in intent) for _ in range(self.source.randint(1, 3))]
            intent["access"] = rules
        return intent

    def client(self, service: str) -> Document:
        client: Document = {"service": service, "namespace": SERVICES[service]}
        if self.maybe(0.3):
            whole = f"{MESH}.mesh.local/ns/{SERVICES[service]}/sa/{service}"
            client["serviceAccounts"] = [self.source.choice((service, "*", "another", whole))]
        return client

    def rule(self, callers: list[str], *, is_tcp: bool, jwt: bool) -> Document:
        rule: Document = {"action": "DENY"} if self.maybe(0.3) else {}
        if not is_tcp:
            if self.maybe(0.6):
                rule["methods"] = self.some(METHODS)
            if self.maybe(0.6):
                rule["paths"] = self.some(PATTERNS, 2)
            if self.maybe(0.1):
                rule["hosts"] = [self.source.choice([host(one) for one in SERVICES])]
            if jwt and self.maybe(0.5):
                rule["claims"] = {"role": self.some(ROLES)}
        if self.maybe(0.15):
            rule["namespaces"] = self.some(sorted({*SERVICES.values()}), 1)
        if self.maybe(0.15):
            rule["serviceAccounts"] = self.some((*callers, "*"), 1)
        if self.maybe(0.15):
            ranges = ["203.0.113.0/24", *(f"{self.addresses[one]}/32" for one in callers)]
            rule["ranges"] = self.some(ranges, 2)
        return rule

    def maybe(self, chance: float) -> bool:
        return self.source.random() < chance

    def some(self, values: Any, most: int | None = None) -> list[Any]:
        """One or more, in any order."""
        return self.source.sample(list(values), self.source.randint(1, min(most or len(values), len(values))))


def all_calls(shop: Shop, issuer: Issuer, stranger: Issuer) -> Iterator[tuple[Call, Document]]:
    """Each pair of services with all methods and paths, with tokens, and to the TCP port."""
    roles = {role: issuer.token(sub="ann", role=role) for role in ROLES}
    foreign = stranger.token(sub="eve", role=ROLES[0])
    for caller, callee in itertools.permutations(SERVICES, 2):
        pair, address = (key(caller), key(callee)), shop.address(caller)
        for method, path in itertools.product(METHODS, PATHS):
            yield Call(*pair, method, path, PORT, address=address), shop.request(callee, method, path)
        for role, token in roles.items():
            claims = {"iss": issuer.name, "sub": "ann", "role": role}
            given = shop.request(callee, "GET", "/reviews/1", authorization=token)
            yield Call(*pair, "GET", "/reviews/1", PORT, claims, address), given
        claims = {"iss": stranger.name, "sub": "eve", "role": ROLES[0]}
        given = shop.request(callee, "GET", "/reviews/1", authorization=foreign)
        yield Call(*pair, "GET", "/reviews/1", PORT, claims, address), given
        yield Call(*pair, port=TCP_PORT, address=address), shop.bytes_to(callee)
