"""Plain HTTPS to an API server, for the few questions that no Pulumi resource answers."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.clusters.objects import misshapen
from pulumi_hosted_mesh.problems import visible
from pulumi_hosted_mesh.vocabulary import HTTPS_PORT

TIMEOUT_SECONDS = 2.0  # of silence
WHOLE_SECONDS = 30.0  # for one answer from its first byte to its last, so that one that drips ends too
NOT_FOUND = 404
UNAUTHORIZED, FORBIDDEN = 401, 403
FIRST_FAILURE = 300
PAGE = 500  # objects in one answer, as kubectl asks for them
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class UnreachableError(Exception):
    """The API server did not answer, or not to this credential. The message holds no secret."""


class UnverifiedError(UnreachableError):
    """What answered showed a certificate that the kubeconfig's authority does not verify; nothing was sent."""


class RefusedError(UnreachableError):
    """The API server answered that this credential may not."""


class UnauthorizedError(RefusedError):
    """The API server answered that it does not know this credential: it has ended, or is another cluster's."""


@dataclass(frozen=True)
class Answer:
    """What the API server answers to one request: the HTTP status, and an object, a Status if it refuses.

    date: the header of this name, the time there.
    """

    status: int
    content: Any
    date: str | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the API server did what was asked. A redirection is no such thing: followed, it would take the
        credential to a server of another's choice."""
        return self.status < FIRST_FAILURE

    @property
    def message(self) -> str:
        """The reason of a refusal, in the API server's words; may be empty."""
        return str(self.content.get("message") or "") if isinstance(self.content, dict) else ""


class ApiServer:
    """The API server of a kubeconfig, asked with a token or a client certificate.

    Nothing is sent before the server has shown a certificate of the kubeconfig's authority for `tls-server-name`, or
    else for the address. A credential that a program fetches (`exec`) must be there already, see `exec_credential`.
    Raises: UnreachableError for a kubeconfig without a usable credential, or one that skips the verification.
    """

    def __init__(self, config: Kubeconfig) -> None:
        content = json.loads(config.text)
        user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
        if cluster.get("insecure-skip-tls-verify"):
            raise UnreachableError(
                "the kubeconfig says insecure-skip-tls-verify, and no credential is sent to a server that nothing "
                "verifies. Give its certificate-authority-data instead"
            )
        self._server = urlsplit(config.server)
        # Without the path, and without what may stand before the host: it could be a password.
        self._where = f"{self._server.hostname}:{self._server.port or HTTPS_PORT}"
        self._name = str(cluster.get("tls-server-name") or self._server.hostname)
        token = str(user.get("token") or "")
        if not (token.isascii() and token.isprintable()):
            raise UnreachableError("the kubeconfig's token has signs that none has, such as a line break. Log in anew")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if not token and "client-certificate-data" not in user:
            raise UnreachableError(
                "the kubeconfig has neither a token nor a client certificate. Log in, or give another kubeconfig"
            )
        try:
            # Comments in a bundle may be in any language, and the ssl module takes ASCII alone.
            authority = (config.certificate_authority or "").encode("ascii", "ignore").decode()
            self._tls = ssl.create_default_context(cadata=authority or None)
            self._tls.sslsocket_class = _Bounded
            if "client-certificate-data" in user:
                _present(self._tls, user)
        except (OSError, ValueError, KeyError):
            raise UnreachableError("the kubeconfig's certificates cannot be read. Make it anew") from None

    def get(self, path: str) -> Any | None:
        """The object at a path, `/api/v1/namespaces/kube-system`; None if there is none."""
        found = self._call("GET", path)
        return None if found is None else self._whole(found, path)

    def list(self, path: str, *, metadata_only: bool = False) -> Iterator[Any]:
        """The objects of a collection, page by page; none if the API server does not know their kind.

        metadata_only: names, labels and annotations alone cross the wire: of Secrets nothing else is ever wanted.
        Raises: RefusedError, UnreachableError.
        """
        headers = {"Accept": METADATA} if metadata_only else {}
        page = f"{path}{'&' if '?' in path else '?'}limit={PAGE}"
        following = ""
        while True:
            answer = self._call("GET", page + following, headers=headers)
            if answer is None:
                return
            items = _items_of(answer)
            if items is None:
                raise UnreachableError(self._is_another)
            for one in items:
                yield self._whole(one, path)
            metadata = answer.get("metadata")
            token = metadata.get("continue") if isinstance(metadata, dict) else None
            if not token:
                return
            before, following = following, f"&continue={quote(str(token), safe='')}"
            if following == before:  # the same page for ever
                raise UnreachableError(self._is_another)

    def text(self, path: str, seconds: float = TIMEOUT_SECONDS) -> str | None:
        """What is at a path that does not answer with an object: a Pod's log, or what a Pod itself says.

        seconds: how long to wait for each part of it. The whole may take WHOLE_SECONDS.
        """
        content = self._content_of(self._ask("GET", path, seconds=seconds, plain=True))
        return None if content is None else str(content)

    def post(self, path: str, body: Any) -> Any | None:
        """What the API server answers to an object that is sent to a path; None if the path is not there."""
        return self._call("POST", path, json.dumps(body))

    def delete(self, path: str) -> None:
        """Deletes the object at a path; that it is gone already is fine."""
        self._call("DELETE", path)

    def clock(self) -> datetime:
        """The time there, UTC, to the second; a refusal says it too. Raises: UnreachableError."""
        try:
            found = parsedate_to_datetime(self._ask("GET", "/version").date or "")
        except (ValueError, OverflowError):
            raise UnreachableError(f"the API server at {self._where} does not say what time it is") from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)  # of -0000, which is UTC from nowhere

    def dry_run(self, path: str, body: Any, seconds: float) -> Answer:
        """What the API server answers to an object that it is to check, and not to store: it asks all webhooks.

        seconds: how long to wait for it. Raises: UnreachableError only if there is no answer that can be read.
        """
        answer = self._ask("POST", f"{path}?dryRun=All", json.dumps(body), seconds=seconds)
        if answer.is_ok:
            self._whole(answer.content, path)
        return answer

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
        connection = _Connection(self._server, self._name, self._tls, seconds)
        try:
            kind = {"Content-Type": "application/json"} if body else {}
            connection.request(method, self._server.path + path, body, {**self._headers, **kind, **(headers or {})})
            answer = connection.getresponse()
            read = answer.read()
            # A refusal has a Status; what stands before an API server may answer anything.
            is_text = plain and answer.status < FIRST_FAILURE
            content = read.decode(errors="replace") if is_text else _object(read)
            if content is None and answer.status < FIRST_FAILURE:
                raise UnreachableError(self._is_another)
            return Answer(answer.status, content, answer.getheader("Date"))
        except ssl.SSLCertVerificationError as error:
            raise UnverifiedError(
                f"the API server's certificate is refused: {error.verify_message.rstrip('.')} ({self._where})"
            ) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = _why(error, seconds)
            raise UnreachableError(f"the API server does not answer at {self._where}: {why}") from None
        finally:
            connection.close()

    @property
    def _is_another(self) -> str:
        return f"what answers at {self._where} is no API server. Correct the kubeconfig's server"

    def _whole(self, found: Any, path: str) -> Any:
        """The object, unless it has a form in which it cannot be read."""
        if part := misshapen(found):
            what = f"{path.partition('?')[0]} with an object whose {part} cannot be read"
            raise UnreachableError(f"the API server at {self._where} answered {what}. Is it one of Kubernetes?")
        return found

    def _content_of(self, answer: Answer) -> Any | None:
        """None for what is not there. Raises: RefusedError, UnreachableError."""
        if answer.status == NOT_FOUND:
            return None
        if answer.is_ok:
            return answer.content
        said = f"the API server at {self._where} answered {answer.status}"
        if answer.status == UNAUTHORIZED:
            raise UnauthorizedError(f"{said}: this credential has ended, or is of another cluster. Log in anew")
        if answer.status == FORBIDDEN:  # and which right it is that lacks
            raise RefusedError(f"{said}: {visible(answer.message)}" if answer.message else said)
        raise UnreachableError(said)


class _TooLongError(TimeoutError):
    """Something came each time, but not all of it."""


class _Bounded(ssl.SSLSocket):
    """One that is read until a moment, however often a byte comes: a socket's own timeout begins anew with each."""

    silence: float
    end: float

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        left = self.end - monotonic()
        if left <= 0:
            raise _TooLongError
        self.settimeout(min(self.silence, left))
        return super().recv_into(buffer, nbytes, flags)


class _Connection(http.client.HTTPSConnection):
    """HTTPS to a server whose certificate is for `name`; the one that it extends can expect the address alone."""

    def __init__(self, server: SplitResult, name: str, tls: ssl.SSLContext, seconds: float) -> None:
        super().__init__(str(server.hostname), server.port, timeout=seconds, context=tls)
        self._name = name
        self._tls = tls
        self._seconds = seconds

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), TIMEOUT_SECONDS)
        plain.settimeout(self._seconds)
        secured = self._tls.wrap_socket(plain, server_hostname=self._name)
        assert isinstance(secured, _Bounded)
        secured.silence, secured.end = self._seconds, monotonic() + max(self._seconds, WHOLE_SECONDS)
        self.sock = secured


def kube_system_uid(config: Kubeconfig) -> str | None:
    """The uid of the kube-system namespace, which no two clusters share; None if it cannot be asked right now.

    No program is run for a credential: a preview would wait for it, and the provider plug-in runs it once more.
    """
    try:
        namespace = ApiServer(config).get("/api/v1/namespaces/kube-system")
    except UnreachableError:
        return None
    uid = namespace["metadata"].get("uid") if namespace else None
    return str(uid) if uid else None


def _object(body: bytes) -> dict[str, Any] | None:
    """What an API server answers with; None for anything else, as a page to log in."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _items_of(answer: dict[str, Any]) -> list[Any] | None:
    """The objects of a list, which an API server writes as null if there are none; None if it is no list."""
    found = [] if answer.get("items", ()) is None else answer.get("items")
    if not isinstance(found, list) or not all(isinstance(one, dict) and "metadata" in one for one in found):
        return None
    return found


def _why(error: Exception, seconds: float) -> str:
    """Why there is no answer, without the words of the error, which may repeat what was sent."""
    if isinstance(error, _TooLongError):
        return f"its answer was not whole after {max(seconds, WHOLE_SECONDS):.0f} s"
    if isinstance(error, TimeoutError):
        return f"nothing came within {seconds:.0f} s"
    if isinstance(error, (socket.gaierror, UnicodeError)):
        return "this machine does not find the name"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS"
    if isinstance(error, OSError):
        return (error.strerror or "the connection ended").lower()
    return "the connection ended" if isinstance(error, http.client.RemoteDisconnected) else "it does not speak HTTP"


def _present(context: ssl.SSLContext, user: dict[str, str]) -> None:
    """Makes the context present the client's certificate; the ssl module takes it from a file only (mode 0600)."""
    with tempfile.NamedTemporaryFile() as pair:
        for key in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[key]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
