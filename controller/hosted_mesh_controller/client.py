"""A typed client of the interface."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel

from hosted_mesh_controller.views import (
    ClusterPage,
    ObjectPage,
    Operation,
    OperationPage,
    OrderedObject,
    ProblemDetails,
    UpkeepState,
)

V = TypeVar("V", bound=BaseModel)
_TIMEOUT: Final = 30.0
_SILENCE: Final = 60.0  # seconds without an event or a comment: four times the service's beat


class ClientError(Exception):
    """An answer with an error, or none. details: None without an answer."""

    def __init__(self, text: str, details: ProblemDetails | None = None) -> None:
        super().__init__(text)
        self.details = details


@dataclass(frozen=True)
class Event:
    """A server-sent event of an operation."""

    number: int
    kind: str
    data: Mapping[str, Any]


class Client:
    """Orders of one tenant. url: of the service. verify: path of a certificate authority; True for the system's."""

    def __init__(self, url: str, token: str, tenant: str, verify: str | bool = True) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=_TIMEOUT, verify=_trust(verify))
        self._base = f"/v1/tenants/{quote(tenant, safe='')}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def order(
        self,
        kind: str,
        documents: Mapping[str, Any],
        *,
        name: str | None = None,
        etag: str | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Operation:
        """Orders a new object; with name and etag, a change. key: of your choice, for safe repetition."""
        method, path = ("POST", kind) if name is None else ("PUT", f"{kind}/{quote(name, safe='')}")
        return self._ordered(method, path, documents, etag, dry_run=dry_run, key=key)

    def delete(self, kind: str, name: str, *, etag: str | None = None, dry_run: bool = False) -> Operation:
        """Orders the removal of an object."""
        return self._ordered("DELETE", f"{kind}/{quote(name, safe='')}", None, etag, dry_run=dry_run)

    def show(self, kind: str, name: str) -> OrderedObject:
        """An object."""
        return self._read(OrderedObject, f"{kind}/{quote(name, safe='')}")

    def objects(self, kind: str) -> Iterator[OrderedObject]:
        """All objects of a kind."""
        after: str | None = ""
        while after is not None:
            page = self._read(ObjectPage, kind, after=after)
            yield from page.items
            after = page.next

    def keep(self, kind: str, name: str, repair: str | None) -> UpkeepState:
        """Sets the policy for changes by others: `always`, `report`, or None for the one of the settings."""
        response = self._send("PUT", f"{kind}/{quote(name, safe='')}/upkeep", {"repair": repair})
        return UpkeepState.model_validate_json(response.content)

    def operation(self, identifier: str) -> Operation:
        """An operation."""
        return self._read(Operation, f"operations/{quote(identifier, safe='')}")

    def operations(self) -> Iterator[Operation]:
        """All operations, newest first."""
        after: str | None = ""
        while after is not None:
            page = self._read(OperationPage, "operations", after=after)
            yield from page.items
            after = page.next

    def clusters(self) -> ClusterPage:
        """The clusters that documents may name."""
        return self._read(ClusterPage, "clusters")

    def cancel(self, identifier: str) -> Operation:
        """Requests the end of an operation."""
        response = self._send("POST", f"operations/{quote(identifier, safe='')}/cancel")
        return Operation.model_validate_json(response.content)

    def events(self, identifier: str, last: int = 0) -> Iterator[Event]:
        """The events of an operation until its end, across lost connections. last: number of the last known event."""
        path = f"{self._base}/operations/{quote(identifier, safe='')}/events"
        while True:
            try:
                headers = {"Last-Event-ID": str(last), "Accept": "text/event-stream"}
                with self._http.stream("GET", path, headers=headers, timeout=_SILENCE) as response:
                    if response.status_code != 200:
                        response.read()
                        raise _error(response)
                    for event in _parsed(response.iter_lines()):
                        last = event.number
                        yield event
                        if event.kind == "end":
                            return
            except httpx2.TransportError:
                time.sleep(1)  # the service restarts; operations continue

    def wait(self, identifier: str) -> Operation:
        """An operation after its end."""
        for event in self.events(identifier):
            if event.kind == "end":
                return Operation.model_validate(event.data)
        raise AssertionError("events() ends with the event `end`")

    def _ordered(
        self, method: str, path: str, body: Any, etag: str | None, *, dry_run: bool, key: str | None = None
    ) -> Operation:
        headers = {name: value for name, value in (("If-Match", etag), ("Idempotency-Key", key)) if value}
        response = self._send(method, path, body, headers, {"dryRun": "true"} if dry_run else None)
        return Operation.model_validate_json(response.content)

    def _read(self, model: type[V], path: str, **query: str) -> V:
        given = {name: value for name, value in query.items() if value}
        return model.model_validate_json(self._send("GET", path, query=given).content)

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        content = {} if body is None else {"json": body}
        try:
            response = self._http.request(
                method, f"{self._base}/{path}", headers=dict(headers or {}), params=dict(query or {}), **content
            )
        except httpx2.TransportError as error:
            raise ClientError(f"the controller does not answer: {type(error).__name__}") from None
        if response.is_error:
            raise _error(response)
        return response


def _trust(verify: str | bool) -> Any:
    return verify if isinstance(verify, bool) else ssl.create_default_context(cafile=verify)


def _error(response: httpx2.Response) -> ClientError:
    try:
        details = ProblemDetails.model_validate_json(response.content)
    except ValueError:
        return ClientError(f"the controller answered with status {response.status_code}")
    lines = [details.detail, *(f"{one.field}: {one.rule}. {one.fix}" for one in details.problems)]
    return ClientError("\n  ".join(lines), details)


def _parsed(lines: Iterator[str]) -> Iterator[Event]:
    """Events of a stream of lines, as the service writes them: id, event, data, an empty line."""
    found: dict[str, str] = {}
    for line in lines:
        if not line and "data" in found:
            yield Event(int(found["id"]), found["event"], json.loads(found["data"]))
            found = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = value
