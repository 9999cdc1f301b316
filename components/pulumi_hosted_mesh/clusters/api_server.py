"""The library's only client of API servers, for requests without a Pulumi resource. ADR 27 has the reasons."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpcore2

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.clusters.impersonation import impersonation_headers
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.clusters.objects import misshapen
from pulumi_hosted_mesh.clusters.proxies import InvalidProxyError, proxy_of
from pulumi_hosted_mesh.problems import visible
from pulumi_hosted_mesh.vocabulary import HTTPS_PORT

TIMEOUT_SECONDS = 2.0  # without a byte
WHOLE_SECONDS = 30.0  # for one whole answer, so that a slow one ends too
SWITCHING_PROTOCOLS = 101
NOT_FOUND = 404
UNAUTHORIZED, FORBIDDEN = 401, 403
FIRST_FAILURE = 300
PAGE = 500  # objects in one answer, as in kubectl's requests
SOCKS_PORT = 1080
HTTP_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)
GONE = 410
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
METADATA_OF_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"  # in each event of a watch
WATCH_MARGIN_SECONDS = 5.0


class UnreachableError(Exception):
    """The API server does not answer, or rejects the credential. The message holds no secret."""


class UnverifiedError(UnreachableError):
    """The kubeconfig's authority does not verify the server's certificate; no request was sent."""


class RefusedError(UnreachableError):
    """The API server rejects the request: the credential lacks the right."""


class OutdatedError(UnreachableError):
    """The API server no longer has the changes since a version, or no longer has the kind: list again."""


class UnauthorizedError(RefusedError):
    """The API server rejects the credential: it is expired, or is another cluster's."""


@dataclass(frozen=True)
class Answer:
    """The API server's answer to one request: the HTTP status and an object, a Status on an error.

    date: the header of this name, the server's time.
    """

    status: int
    content: Any
    date: str | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the request succeeded. A redirection is a failure: it would send the credential to another server."""
        return self.status < FIRST_FAILURE

    @property
    def message(self) -> str:
        """The API server's message of an error; may be empty."""
        return str(self.content.get("message") or "") if isinstance(self.content, dict) else ""


class ApiServer:
    """A client of a kubeconfig's API server: by its proxy, with its credential, and as the user that it impersonates.

    It sends no request before the kubeconfig's authority has verified the server's certificate, for `tls-server-name`
    or else the address. A credential by `exec` must be fetched before, see `exec_credential`.
    Raises: UnreachableError for a kubeconfig without a usable credential or proxy, or with verification turned off.
    """

    def __init__(self, config: Kubeconfig) -> None:
        content = json.loads(config.text)
        user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
        if cluster.get("insecure-skip-tls-verify"):
            raise UnreachableError(
                "the kubeconfig has insecure-skip-tls-verify, but a credential requires a verified server. "
                "Set certificate-authority-data instead"
            )
        server = canonical.split_server(config.server)
        host, port = str(server.hostname), server.port or HTTPS_PORT
        # Without path and user information, which could hold a password.
        self._where = f"{canonical.in_url(host)}:{port}"
        self._host, self._port, self._path = canonical.host(host), port, quote(server.path.rstrip("/"), safe="/%")
        # A certificate has no final dot in its names.
        self._name = canonical.host(str(cluster.get("tls-server-name") or host))
        # Names of users may be in any language; Go's clients send them as UTF-8 too.
        of_user = [*_credential(user), *impersonation_headers(user)]
        self._headers = [(name.encode(), value.encode(errors="replace")) for name, value in of_user]
        try:
            # Comments in a bundle may be in any language, but the ssl module accepts only ASCII.
            authority = (config.certificate_authority or "").encode("ascii", "ignore").decode()
            tls = _context(authority)
            if "client-certificate-data" in user:
                _present(tls, user)
        except (OSError, ValueError, KeyError):
            raise UnreachableError("the kubeconfig's certificates cannot be read. Make the kubeconfig again") from None
        self._by_proxy = False
        self._pool = self._connections(cluster, tls)

    def _connections(self, cluster: Mapping[str, Any], tls: ssl.SSLContext) -> httpcore2.ConnectionPool:
        # One connection for each request: a check must not depend on a connection of an earlier one.
        kept = 0
        try:
            written = proxy_of(cluster, self._host, self._port)
            if written is None:
                return httpcore2.ConnectionPool(tls, max_connections=None, max_keepalive_connections=kept)
            self._by_proxy = True
            parts = urlsplit(written)
            auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
            default = {"http": 80, "https": HTTPS_PORT}.get(parts.scheme, SOCKS_PORT)
            at = canonical.in_url(str(parts.hostname)).encode("idna") if parts.hostname else b""
            proxy = httpcore2.URL(scheme=parts.scheme.encode(), host=at, port=parts.port or default, target=b"/")
            if parts.scheme.startswith("socks"):
                return httpcore2.SOCKSProxy(proxy, auth, tls, max_connections=None, max_keepalive_connections=kept)
            # In CONNECT an IPv6 address has brackets, which httpcore2 does not add. `_name` is for TLS.
            self._host = canonical.in_url(self._host)
            # The proxy's own certificate is verified by the system's authorities, as in Go's client.
            own = _context(None) if parts.scheme == "https" else None
            return httpcore2.HTTPProxy(
                proxy,
                auth,
                ssl_context=tls,
                proxy_ssl_context=own,
                max_connections=None,
                max_keepalive_connections=kept,
            )
        except InvalidProxyError as error:
            raise UnreachableError(str(error)) from None
        except (ValueError, UnicodeError):
            raise UnreachableError("the address of the proxy cannot be used. Correct it") from None

    def get(self, path: str) -> Any | None:
        """The object at a path, `/api/v1/namespaces/kube-system`; None if there is none."""
        found = self._call("GET", path)
        return None if found is None else self._whole(found, path)

    def list(self, path: str, *, metadata_only: bool = False) -> Iterator[Any]:
        """The objects of a collection, page by page; none if the API server does not have their kind.

        metadata_only: requests names, labels and annotations only, for example of Secrets.
        Raises: RefusedError, UnreachableError.
        """
        for answer in self._pages(path, metadata_only=metadata_only):
            for one in answer["items"] or ():
                yield self._whole(one, path)

    def snapshot(self, path: str, *, metadata_only: bool = False) -> tuple[Sequence[Any], str | None]:
        """The objects of a collection, and its version, from which `watch` continues; None for a kind that the API
        server does not have. Raises: RefusedError, UnreachableError."""
        found, version = list[Any](), None
        for answer in self._pages(path, metadata_only=metadata_only):
            found += [self._whole(one, path) for one in answer["items"] or ()]
            metadata = answer.get("metadata")
            version = str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""
            if not version:
                raise UnreachableError(self._is_another)
        return found, version

    def watch(
        self, path: str, version: str, seconds: float, *, metadata_only: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """The changes of a collection since a version: `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`, and the object.

        It ends after `seconds`. A bookmark has a resourceVersion only.
        Raises: OutdatedError, RefusedError, UnreachableError.
        """
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds:.0f}&resourceVersion={quote(version)}"
        # No reset at the end: another thread may end the generator, and each request sets its own limit.
        _UNTIL.set(monotonic() + seconds + 2 * WATCH_MARGIN_SECONDS)
        accepted = METADATA_OF_ONE if metadata_only else "application/json"
        try:
            with self._pool.stream(
                "GET",
                self._url(f"{path}{'&' if '?' in path else '?'}{query}"),
                headers=[("Host", self._where), ("Accept", accepted), *self._headers],
                extensions={"sni_hostname": self._name, "timeout": _limits(seconds + WATCH_MARGIN_SECONDS)},
            ) as response:
                if response.status in (NOT_FOUND, GONE):
                    raise OutdatedError(f"the API server at {self._where} no longer has these changes")
                if response.status >= FIRST_FAILURE:
                    self._content_of(Answer(response.status, _object(response.read())))
                for line in _lines(response.iter_stream()):
                    yield self._event(line, path)
        except (OSError, ValueError, RuntimeError, *HTTP_ERRORS) as error:
            raise self._unanswered(error, seconds) from None

    def _event(self, line: bytes, path: str) -> tuple[str, Any]:
        event = _object(line) or {}
        found = event.get("object")
        if event.get("type") == "ERROR" and isinstance(found, dict):
            if found.get("code") == GONE:
                raise OutdatedError(f"the API server at {self._where} no longer has these changes")
            raise UnreachableError(
                f"the API server at {self._where} ended a watch: {visible(str(found.get('message')))}"
            )
        if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
            raise UnreachableError(self._is_another)
        return str(event.get("type")), found if event.get("type") == "BOOKMARK" else self._whole(found, path)

    def _pages(self, path: str, *, metadata_only: bool) -> Iterator[dict[str, Any]]:
        headers = {"Accept": METADATA} if metadata_only else {}
        page = f"{path}{'&' if '?' in path else '?'}limit={PAGE}"
        following = ""
        while True:
            answer = self._call("GET", page + following, headers=headers)
            if answer is None:
                return
            if _items_of(answer) is None:
                raise UnreachableError(self._is_another)
            metadata = answer.get("metadata")
            yield answer
            token = metadata.get("continue") if isinstance(metadata, dict) else None
            if not token:
                return
            before, following = following, f"&continue={quote(str(token), safe='')}"
            if following == before:  # an endless list
                raise UnreachableError(self._is_another)

    def resources(self, group_version: str) -> frozenset[str]:
        """The resources of an API group's version, such as `apps/v1`; none without it. Raises: UnreachableError."""
        return frozenset(str(one.get("name")) for one in self._listed(group_version))

    def kinds(self, group_version: str) -> dict[str, dict[str, Any]]:
        """The resources of an API group's version by kind, without subresources. Raises: UnreachableError."""
        listed = self._listed(group_version)
        return {str(one.get("kind")): one for one in listed if "/" not in str(one.get("name"))}

    def _listed(self, group_version: str) -> Sequence[dict[str, Any]]:
        root = "/apis" if "/" in group_version else "/api"
        found = self._call("GET", f"{root}/{group_version}")
        listed = found.get("resources") if isinstance(found, dict) else []
        if not isinstance(listed, list):
            raise UnreachableError(self._is_another)
        return [one for one in listed if isinstance(one, dict)]

    def text(self, path: str, seconds: float = TIMEOUT_SECONDS) -> str | None:
        """The text at a path without an object: a Pod's log, or a Pod's own answer; None if the path does not exist.

        seconds: timeout for each part. The whole may take WHOLE_SECONDS.
        """
        content = self._content_of(self._ask("GET", path, seconds=seconds, plain=True))
        return None if content is None else str(content)

    def post(self, path: str, body: Any) -> Any | None:
        """The answer to an object sent to a path; None if the path does not exist."""
        return self._call("POST", path, json.dumps(body))

    def patch(self, path: str, change: Any) -> Any | None:
        """The object at a path after a merge patch; None if it does not exist. Raises: RefusedError."""
        return self._call("PATCH", path, json.dumps(change), {"Content-Type": "application/merge-patch+json"})

    def delete(self, path: str) -> None:
        """Deletes the object at a path, if it exists."""
        self._call("DELETE", path)

    def clock(self) -> datetime:
        """The server's time, UTC, to the second; also from an error's header. Raises: UnreachableError."""
        try:
            found = parsedate_to_datetime(self._ask("GET", "/version").date or "")
        except (ValueError, OverflowError):
            raise UnreachableError(f"the API server at {self._where} sends no header Date") from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)  # -0000 is UTC without a time zone

    def dry_run(self, path: str, body: Any, seconds: float) -> Answer:
        """The answer to an object that is checked, by all webhooks too, and not stored.

        seconds: timeout. Raises: UnreachableError only without a readable answer.
        """
        answer = self._ask("POST", f"{path}?dryRun=All", json.dumps(body), seconds=seconds)
        if answer.is_ok:
            self._whole(answer.content, path)
        return answer

    @contextmanager
    def upgraded(self, path: str, headers: Mapping[str, str], seconds: float) -> Iterator[httpcore2.NetworkStream]:
        """The bytes of a connection after the API server has switched its protocol.

        seconds: timeout for each part. Raises: RefusedError, UnreachableError.
        """
        until = _UNTIL.set(monotonic() + max(seconds, WHOLE_SECONDS))
        try:
            with self._pool.stream(
                "GET",
                self._url(path),
                headers=[("Host", self._where), *headers.items(), *self._headers],
                extensions={"sni_hostname": self._name, "timeout": _limits(seconds)},
            ) as response:
                if response.status != SWITCHING_PROTOCOLS:
                    self._content_of(Answer(response.status, _object(response.read())))
                    raise UnreachableError(f"the API server at {self._where} answered {response.status}")
                yield response.extensions["network_stream"]
        except (OSError, ValueError, RuntimeError, *HTTP_ERRORS) as error:
            raise self._unanswered(error, seconds) from None
        finally:
            _UNTIL.reset(until)

    def _call(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> Any | None:
        return self._content_of(self._ask(method, path, body, headers))

    def _ask(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: dict[str, str] | None = None,
        seconds: float = TIMEOUT_SECONDS,
        *,
        plain: bool = False,
    ) -> Answer:
        sent = {
            "Host": self._where,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "hosted-mesh",
            **({"Content-Type": "application/json"} if body else {}),
            **(headers or {}),
        }
        try:
            url = self._url(path)
            until = _UNTIL.set(monotonic() + max(seconds, WHOLE_SECONDS))
            try:
                answer = self._pool.request(
                    method,
                    url,
                    headers=[*sent.items(), *self._headers],
                    content=(body or "").encode(),
                    extensions={"sni_hostname": self._name, "timeout": _limits(seconds)},
                )
            finally:
                _UNTIL.reset(until)
        except (OSError, ValueError, RuntimeError, *HTTP_ERRORS) as error:
            raise self._unanswered(error, seconds) from None
        # An API server's error is a Status; a proxy before it may answer anything.
        is_text = plain and answer.status < FIRST_FAILURE
        content = answer.content.decode(errors="replace") if is_text else _object(answer.content)
        if content is None and answer.status < FIRST_FAILURE:
            raise UnreachableError(self._is_another)
        return Answer(answer.status, content, _header(answer, b"date"))

    def _url(self, path: str) -> httpcore2.URL:
        target = (self._path + path).encode("ascii")
        return httpcore2.URL(scheme=b"https", host=self._host.encode("idna"), port=self._port, target=target)

    def _unanswered(self, error: Exception, seconds: float) -> UnreachableError:
        causes = list(_causes(error))
        refused = next((one for one in causes if isinstance(one, ssl.SSLCertVerificationError)), None)
        if refused is not None:
            why = refused.verify_message.rstrip(".")
            return UnverifiedError(f"the API server's certificate is rejected: {why} ({self._where})")
        if any(isinstance(one, httpcore2.ProxyError) for one in causes):
            return UnreachableError(f"the proxy before {self._where} does not connect to it. See the proxy's log")
        way = " by its proxy" if self._by_proxy else ""
        return UnreachableError(f"the API server does not answer at {self._where}{way}: {_why(causes, seconds)}")

    @property
    def _is_another(self) -> str:
        return f"the server at {self._where} is no API server. Correct the kubeconfig's server"

    def _whole(self, found: Any, path: str) -> Any:
        """The object, checked for a readable form."""
        if part := misshapen(found):
            answered = f"{path.partition('?')[0]} with an object with unreadable {part}"
            raise UnreachableError(f"the API server at {self._where} answered {answered}. Is it one of Kubernetes?")
        return found

    def _content_of(self, answer: Answer) -> Any | None:
        """The answer's content; None if the path does not exist. Raises: RefusedError, UnreachableError."""
        if answer.status == NOT_FOUND:
            return None
        if answer.is_ok:
            return answer.content
        answered = f"the API server at {self._where} answered {answer.status}"
        if answer.status == UNAUTHORIZED:
            raise UnauthorizedError(f"{answered}: the credential is expired, or is another cluster's. Log in again")
        if answer.status == FORBIDDEN:  # the message names the missing right
            raise RefusedError(f"{answered}: {visible(answer.message)}" if answer.message else answered)
        raise UnreachableError(answered)


class _TooLongError(TimeoutError):
    """The answer was not complete in time."""


_UNTIL: ContextVar[float] = ContextVar("_UNTIL")


class _Bounded(ssl.SSLSocket):
    """A socket with a deadline for the whole answer: the socket's own timeout starts again with each byte."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        left = _UNTIL.get() - monotonic()
        if left <= 0:
            raise _TooLongError
        silence = self.gettimeout()
        self.settimeout(left if silence is None else min(silence, left))
        return super().recv(buflen, flags)


def _limits(seconds: float) -> dict[str, float]:
    return {"connect": TIMEOUT_SECONDS, "read": seconds, "write": seconds, "pool": max(seconds, WHOLE_SECONDS)}


def _context(authority: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority or None)
    context.sslsocket_class = _Bounded
    return context


def _credential(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The header with the token, or with name and password; none for a client certificate."""
    token = str(user.get("token") or "")
    if not (token.isascii() and token.isprintable()):
        raise UnreachableError("the kubeconfig's token has invalid characters, such as a line break. Log in again")
    if token:
        return [("Authorization", f"Bearer {token}")]
    if user.get("username") and user.get("password"):
        pair = f"{user['username']}:{user['password']}".encode()
        return [("Authorization", f"Basic {base64.b64encode(pair).decode()}")]
    if "client-certificate-data" not in user:
        raise UnreachableError(
            "the kubeconfig has neither a token nor a client certificate. Log in, or give another kubeconfig"
        )
    return []


def _header(answer: httpcore2.Response, wanted: bytes) -> str | None:
    return next((value.decode("latin-1") for name, value in answer.headers if name.lower() == wanted), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def kube_system_uid(config: Kubeconfig) -> str | None:
    """The uid of the kube-system namespace, unique for a cluster; None if the cluster does not answer now.

    It runs no `exec` program for a credential: a preview would wait for it, and the provider plug-in runs it again.
    """
    try:
        namespace = ApiServer(config).get("/api/v1/namespaces/kube-system")
    except UnreachableError:
        return None
    uid = namespace["metadata"].get("uid") if namespace else None
    return str(uid) if uid else None


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)


def _object(body: bytes) -> dict[str, Any] | None:
    """An API server's object; None for another answer, such as a login page."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _items_of(answer: dict[str, Any]) -> list[Any] | None:
    """The objects of a list, which is null in an empty answer; None if it is no list."""
    found = [] if answer.get("items", ()) is None else answer.get("items")
    if not isinstance(found, list) or not all(isinstance(one, dict) and "metadata" in one for one in found):
        return None
    return found


def _why(causes: list[BaseException], seconds: float) -> str:
    """The reason for no answer, without the errors' messages, which may repeat the request."""

    def has(*kinds: type[BaseException]) -> bool:
        return any(isinstance(one, kinds) for one in causes)

    if has(_TooLongError):
        return f"its answer was not complete after {max(seconds, WHOLE_SECONDS):.0f} s"
    if has(TimeoutError, httpcore2.TimeoutException):
        return f"no byte within {seconds:.0f} s"
    if has(socket.gaierror, UnicodeError):
        return "this machine does not resolve the name"
    if has(ssl.SSLError):
        return "it does not speak TLS"
    if found := next((one for one in causes if isinstance(one, OSError)), None):
        return (found.strerror or "the connection ended").lower()
    return "the connection ended" if has(httpcore2.NetworkError) else "it does not speak HTTP"


def _present(context: ssl.SSLContext, user: dict[str, str]) -> None:
    """Adds the client's certificate to the context; the ssl module reads it from a file only (mode 0600)."""
    with tempfile.NamedTemporaryFile() as pair:
        for key in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[key]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
