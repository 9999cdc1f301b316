"""Why an API server could not call a webhook, or who refused: read from what it says of it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# k8s.io/apiserver/pkg/admission/plugin/webhook: ErrCallingWebhook, and ToStatusErr for a refusal.
_UNCALLED = re.compile(r'failed calling webhook "(?P<name>[^"]*)": (?P<reason>.*)', re.DOTALL)
_DENIED = re.compile(r'admission webhook "(?P<name>[^"]*)" denied the request: ?(?P<reason>.*)', re.DOTALL)
_URL = re.compile(r'Post "(?P<url>[^"?]*)[^"]*": ?')


@dataclass(frozen=True)
class Cause:
    """A reason, with the words that Go or the API server has for it, and what to do."""

    name: str
    words: tuple[str, ...]
    fix: str


# The first that fits.
CAUSES = (
    Cause(
        "wrong-ca-bundle",
        ("signed by unknown authority", "unable to load root certificates", "parse bytes as PEM"),
        "The bundle does not verify istiod. Get today's endpoint (`hosted-mesh endpoint > endpoint.yaml`) and run "
        "`pulumi up --refresh` of the stack data-plane, or install the output webhook_manifests anew",
    ),
    Cause(
        "certificate-expired",
        ("has expired or is not yet valid",),
        "`pulumi stack export | hosted-mesh status -` of the stacks root and control-plane says which one; "
        "`pulumi up` there renews it",
    ),
    Cause(
        "wrong-name",
        ("certificate is valid for", "cannot validate certificate for", "not valid for any names"),
        "istiod's certificate is for the host of the endpoint. Call it by that name, and see that no proxy or load "
        "balancer on the way ends TLS",
    ),
    Cause(
        "name-not-found",
        ("no such host", "server misbehaving", "lookup "),
        "The API server resolves names by its own machine's DNS, not by the cluster's. Publish the host there",
    ),
    Cause(
        "time-out",
        ("context deadline exceeded", "i/o timeout", "Client.Timeout", "TLS handshake timeout"),
        "Nothing answered. Put the address under which the API server leaves its network into the exposure's source "
        "ranges, open the port in firewalls on the way, and see that istiod's Pods are ready",
    ),
    Cause(
        "unreachable",
        ("connection refused", "network is unreachable", "no route to host", "host is unreachable", "No agent"),
        "See that istiod's Pods are ready and the exposed Service has an address, that the host resolves to it, and "
        "that the API server's address is in the source ranges",
    ),
    Cause(
        "another-server",
        (
            "EOF",
            "connection reset",
            "first record does not look like a TLS handshake",
            "server gave HTTP response",
            "could not find the requested resource",
            "expected webhook response",
            "invalid character",
            "remote error: tls",
        ),
        "What answers there is no webhook of istiod's. Compare the URL's port and path with the endpoint's, and look "
        "where the load balancer sends that port",
    ),
)
OTHER = Cause("call-failed", (), "The API server's words say why; its log may say more")


@dataclass(frozen=True)
class Failure:
    """A webhook that the API server could not call. webhook: its name. url: None where the message has none."""

    webhook: str
    url: str | None
    cause: Cause
    reason: str


def failure(message: str) -> Failure | None:
    """What the API server says it could not call; None if it says no such thing."""
    found = _UNCALLED.search(message)
    if found is None:
        return None
    reason = found["reason"].removeprefix("failed to call webhook: ")
    url = _URL.match(reason)
    plain = reason[url.end() :] if url else reason
    cause = next((one for one in CAUSES if any(words in plain for words in one.words)), OTHER)
    return Failure(found["name"], url["url"] if url else None, cause, one_line(plain))


def denial(message: str) -> tuple[str, str] | None:
    """Name and reason of the webhook that refused; None if it was something else. Words that quote one do not count:
    the API server begins with it."""
    found = _DENIED.match(message)
    return (found["name"], one_line(found["reason"])) if found else None


def one_line(text: str, most: int = 300) -> str:
    """The text on one line, cut short."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}..."
