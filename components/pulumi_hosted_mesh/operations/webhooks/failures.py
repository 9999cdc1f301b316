"""Reads an API server's error message: a webhook that it could not call, or a webhook that rejected. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# k8s.io/apiserver/pkg/admission/plugin/webhook: ErrCallingWebhook, and ToStatusErr for a rejection.
_UNCALLED = re.compile(r'failed calling webhook "(?P<name>[^"]*)": (?P<reason>.*)', re.DOTALL)
_DENIED = re.compile(r'admission webhook "(?P<name>[^"]*)" denied the request: ?(?P<reason>.*)', re.DOTALL)
_URL = re.compile(r'Post "(?P<url>[^"?]*)[^"]*": ?')


@dataclass(frozen=True)
class Cause:
    """A reason, with the words of Go or the API server for it, and the fix."""

    name: str
    words: tuple[str, ...]
    fix: str


# The first match applies.
CAUSES = (
    Cause(
        "wrong-ca-bundle",
        ("signed by unknown authority", "unable to load root certificates", "parse bytes as PEM"),
        "The bundle does not verify istiod. Get a new endpoint (`hosted-mesh endpoint > endpoint.yaml`) and run "
        "`pulumi up --refresh` of the stack data-plane, or install the output webhook_manifests again",
    ),
    Cause(
        "not-yet-valid",
        # crypto/x509 appends `current time T is before T` or `is after T`.
        (" is before ",),
        "The certificate is new, or the API server's clock is behind: compare the clocks, for example by `hosted-mesh "
        "doctor`, and set the wrong one",
    ),
    Cause(
        "certificate-expired",
        ("has expired or is not yet valid",),
        "`pulumi stack export | hosted-mesh status -` of the stacks root and control-plane shows the certificate; "
        "`pulumi up` there renews it",
    ),
    Cause(
        "wrong-name",
        ("certificate is valid for", "cannot validate certificate for", "not valid for any names"),
        "istiod's certificate is for the host of the endpoint. Call it by that name, and check that no proxy or load "
        "balancer on the way terminates TLS",
    ),
    Cause(
        "name-not-found",
        ("no such host", "server misbehaving", "lookup "),
        "The API server uses its own machine's DNS, not the cluster's. Publish the host there",
    ),
    Cause(
        "time-out",
        ("context deadline exceeded", "i/o timeout", "Client.Timeout", "TLS handshake timeout"),
        "Nothing answered. Add the API server's outgoing address to the exposure's source ranges, open the port in "
        "firewalls on the way, and check that istiod's Pods are ready",
    ),
    Cause(
        "unreachable",
        ("connection refused", "network is unreachable", "no route to host", "host is unreachable", "No agent"),
        "Check that istiod's Pods are ready and the exposed Service has an address, that the host resolves to it, and "
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
        "The server there is no webhook of istiod. Compare the URL's port and path with the endpoint's, and check the "
        "load balancer's target for that port",
    ),
)
OTHER = Cause("call-failed", (), "See the API server's message above, and its log")


@dataclass(frozen=True)
class Failure:
    """A webhook that the API server could not call. webhook: its name. url: None where the message has none."""

    webhook: str
    url: str | None
    cause: Cause
    reason: str


def failure(message: str) -> Failure | None:
    """The webhook that the API server could not call; None if the message has none."""
    found = _UNCALLED.search(message)
    if found is None:
        return None
    reason = found["reason"].removeprefix("failed to call webhook: ")
    url = _URL.match(reason)
    plain = reason[url.end() :] if url else reason
    cause = next((one for one in CAUSES if any(words in plain for words in one.words)), OTHER)
    return Failure(found["name"], url["url"] if url else None, cause, one_line(plain))


def denial(message: str) -> tuple[str, str] | None:
    """Name and reason of the webhook that rejected; None for other messages.

    The API server's message begins with it, so quotations inside other messages do not count.
    """
    found = _DENIED.match(message)
    return (found["name"], one_line(found["reason"])) if found else None


def one_line(text: str, most: int = 300) -> str:
    """The text on one line, cut short."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}..."
