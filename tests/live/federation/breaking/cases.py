"""What is broken, how the check begins that names it, and by which cause."""

from __future__ import annotations

from tests.live.federation.breaking import diagnosed
from tests.live.federation.breaking import federation as broken
from tests.live.federation.breaking.federation import Breaking
from tests.live.federation.meshes.federated import NAMESPACE, gateway_address
from tests.support.authorities import DAY, NOW

ELSEWHERE = {"spec": {"endpoints": [{"address": "elsewhere.sandbox.test", "ports": {"http": 15443}}]}}
GATEWAY = {"address": gateway_address("west"), "ports": {"http": 15443}, "locality": "sandbox/b"}


CASES: list[tuple[Breaking, str, str]] = [
    (broken.without("serviceentry", broken.ENTRY), f"ServiceEntry {broken.ENTRY} in", "missing-service-entry"),
    (broken.without("destinationrule", broken.ENTRY), f"DestinationRule {broken.ENTRY} in", "missing-destination-rule"),
    (broken.without("authorizationpolicy", "shops"), "AuthorizationPolicy shops in", "missing-authorization-policy"),
    (broken.left_behind, "ServiceEntry shops-old.example.com in", "stale-service-entry"),
    (
        broken.patched("serviceentry", broken.ENTRY, ELSEWHERE, {"spec": {"endpoints": [GATEWAY]}}),
        f"ServiceEntry {broken.ENTRY} in",
        "wrong-address",
    ),
    (broken.no_address, "gateway eastwest in", "no-address"),
    (broken.no_cacerts, "Secret cacerts in", "missing-cacerts"),
    (diagnosed.another_key, "Secret cacerts in", "mismatched-cacerts"),
    (diagnosed.authority_until(NOW - DAY), "Secret cacerts in", "expired"),
    (diagnosed.authority_until(NOW + 9 * DAY), "Secret cacerts in", "ends-soon"),
    (diagnosed.another_root, "Secret cacerts in", "another-root"),
    (diagnosed.incomplete_cacerts, "Secret cacerts in", "incomplete-cacerts"),
    (broken.no_kubeconfig, "access of istiod of east", "missing-kubeconfig"),
    (diagnosed.unreadable_kubeconfig, "access of istiod of east", "unreadable-kubeconfig"),
    (diagnosed.another_authority, "access of istiod of east", "another-authority"),
    (diagnosed.namespace_of_a_revision_that_is_gone, "namespace left-alone", "unknown-revision"),
    (diagnosed.another_token, "access of istiod of east", "token-refused"),
    (diagnosed.fewer_rights, "access of istiod of east", "missing-rights"),
    (diagnosed.another_bundle, "webhooks of revision default", "wrong-ca-bundle"),
    (diagnosed.west_lets_nobody_in, "port 15443 of the gateway of west", "time-out"),
    (diagnosed.proxy_of_a_revision_that_is_gone, "proxies in namespace default", "unknown-revision"),
    (diagnosed.filter_that_a_proxy_refuses, f"configuration of proxies in namespace {NAMESPACE}", "update-rejected"),
    (diagnosed.proxy_that_does_not_find_istiod, f"proxies in namespace {NAMESPACE}", "not-ready"),
]
