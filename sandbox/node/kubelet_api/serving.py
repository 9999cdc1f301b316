"""The node's HTTPS endpoint, as much of kubelet's as `kubectl logs` and `kubectl exec` need.

Callers prove themselves with a client certificate; whether they may is the API server's decision
(SubjectAccessReview on nodes/proxy), as with kubelet. One request per connection.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

import httpx2
from lightkube import AsyncClient
from lightkube.models.authorization_v1 import ResourceAttributes, SubjectAccessReviewSpec
from lightkube.resources.authorization_v1 import SubjectAccessReview

from sandbox.node.config import NodeConfig
from sandbox.node.container.runner import ContainerRunner
from sandbox.node.kubelet_api import exec_stream, log_stream
from sandbox.node.pod.worker import PodWorker

_log = logging.getLogger(__name__)
_HEAD_LIMIT, _HEAD_SECONDS = 64 * 1024, 10


class RefusedRequestError(Exception):
    """Answered with this status and text."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


@dataclass(frozen=True)
class Request:
    """raw: the request's head as it came, for the websocket handshake. query: first value of each; commands: all."""

    raw: bytes
    path: tuple[str, ...]
    query: dict[str, str]
    commands: list[str]

    @classmethod
    def parse(cls, head: bytes) -> "Request":
        """Raises RefusedRequestError."""
        try:
            _, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        except (UnicodeDecodeError, ValueError):
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "not an HTTP/1.1 request") from None
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True)
        path = tuple(unquote(step) for step in parts.path.strip("/").split("/"))
        return cls(head, path, {name: values[0] for name, values in query.items()}, query.get("command", []))


class Serving:
    """find: the worker of a Pod by namespace and name."""

    def __init__(self, config: NodeConfig, client: AsyncClient, find: Callable[[str, str], PodWorker | None]) -> None:
        self._config, self._client, self._find = config, client, find
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Raises OSError if the port is taken or a certificate cannot be read."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self._config.client_ca))
        context.load_cert_chain(self._config.serving_cert, self._config.serving_key)
        context.verify_mode = ssl.CERT_REQUIRED
        self._server = await asyncio.start_server(
            self._serve, str(self._config.node_ip), self._config.port, ssl=context, limit=_HEAD_LIMIT
        )

    async def close(self) -> None:
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                request = Request.parse(await reader.readuntil(b"\r\n\r\n"))
            await self._authorize(request, writer)
            await self._answer(request, reader, writer)
        except RefusedRequestError as error:
            _plain(writer, error.status, error.text)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        except Exception:
            _log.exception("request failed")
            _plain(writer, HTTPStatus.INTERNAL_SERVER_ERROR, "see the node agent's log")
        finally:
            with suppress(ConnectionError, ssl.SSLError, TimeoutError):
                await writer.drain()
                writer.close()

    async def _authorize(self, request: Request, writer: asyncio.StreamWriter) -> None:
        subject = [pair for row in writer.get_extra_info("peercert").get("subject", ()) for pair in row]
        user = next((value for name, value in subject if name == "commonName"), "")
        groups = [value for name, value in subject if name == "organizationName"]
        verb = "create" if request.path[0] == "exec" else "get"
        attributes = ResourceAttributes(
            verb=verb, resource="nodes", subresource="proxy", name=self._config.node_name, version="v1"
        )
        groups.append("system:authenticated")
        spec = SubjectAccessReviewSpec(user=user, groups=groups, resourceAttributes=attributes)
        review = SubjectAccessReview(spec=spec)
        try:
            answer = await self._client.create(review)
        except httpx2.HTTPError as error:
            raise RefusedRequestError(HTTPStatus.SERVICE_UNAVAILABLE, f"cannot ask the API server: {error}") from None
        if not (answer.status and answer.status.allowed):
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, f"{user} may not {verb} nodes/proxy")

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match request.path:
            case ("containerLogs", namespace, pod, container):
                worker, runner = self._container(namespace, pod, container)
                options = log_stream.Options.parse(request.query)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
                await log_stream.send(worker.directory, runner, options, writer)
            case ("exec", namespace, pod, *_, container):
                _, runner = self._container(namespace, pod, container)
                if request.query.get("tty") in ("1", "true"):
                    raise RefusedRequestError(HTTPStatus.NOT_IMPLEMENTED, "a terminal (-t) is not offered by this node")
                await exec_stream.serve(request.raw, request.query, request.commands, runner, reader, writer)
            case (("attach" | "portForward" | "run") as what, *_):
                raise RefusedRequestError(HTTPStatus.NOT_IMPLEMENTED, f"{what} is not offered by this node")
            case _:
                raise RefusedRequestError(HTTPStatus.NOT_FOUND, f"no such path: /{'/'.join(request.path)}")

    def _container(self, namespace: str, pod: str, container: str) -> tuple[PodWorker, ContainerRunner]:
        worker = self._find(namespace, pod)
        if worker is None:
            raise RefusedRequestError(HTTPStatus.NOT_FOUND, f'pod "{pod}" does not run here')
        for runner in worker.runners:
            if runner.container.name == container:
                return worker, runner
        raise RefusedRequestError(HTTPStatus.NOT_FOUND, f'no container "{container}" in pod "{pod}"')


def _plain(writer: asyncio.StreamWriter, status: HTTPStatus, text: str) -> None:
    body = text.encode() + b"\n"
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
