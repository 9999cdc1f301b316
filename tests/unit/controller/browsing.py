"""A browser with a token at the controller's page, for tests: cookies, forms, and the routes of the application."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

from hosted_mesh_controller.api.page_session import COOKIE, FORM, PROOF, VERSION, Session
from hosted_mesh_controller.store.tables import METADATA
from sqlalchemy import select
from starlette.requests import Request
from starlette.testclient import TestClient

from tests.unit.controller.service import Service

HOST = "controller.test"
ORIGIN = f"http://{HOST}"
VALUE = "c" * 43


@dataclass(frozen=True)
class PageBrowser:
    """Requests as a browser sends them: password, cookie, Origin."""

    http: TestClient
    token: str

    @classmethod
    def of(cls, service: Service, holder: str) -> PageBrowser:
        token = service.tokens[holder]
        password = base64.b64encode(f"x:{token}".encode()).decode()
        http = TestClient(service.app, ORIGIN, raise_server_exceptions=False, follow_redirects=False)
        http.headers["Authorization"] = f"Basic {password}"
        http.cookies.set(COOKIE, VALUE)
        return cls(http, token)

    def get(self, path: str) -> Any:
        return self.http.get(path)

    def send(self, path: str, fields: dict[str, str], **headers: str | None) -> Any:
        """A POST of these fields alone. headers: with underscores; None leaves one out."""
        own: dict[str, str | None] = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(path, data=fields, headers={name: text for name, text in own.items() if text is not None})

    def submit(self, path: str, at: str | None = None, **fields: str) -> Any:
        """The form of the page `at`, by default of the same path, that goes to `path`."""
        shown = self.get(at or path)
        assert shown.status_code == 200, shown.text
        return self.send(path, forms(shown.text)[path] | fields)

    def proved(self, path: str, version: str = "") -> dict[str, str]:
        """The hidden fields of a form to a path, without a look at the page."""
        cookie = f"{COOKIE}={VALUE}".encode()
        scope = {"type": "http", "scheme": "http", "path": "/", "headers": [(b"cookie", cookie)], "server": (HOST, 80)}
        return {PROOF: Session(Request(scope), self.token).proof(path, version), VERSION: version}


def forms(text: str) -> dict[str, dict[str, str]]:
    """Hidden fields of a page's forms, by their path."""
    found = {}
    for path, inner in re.findall(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', text, re.DOTALL):
        fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', inner)
        found[unescape(path)] = {name: unescape(value) for name, value in fields}
    return found


def routes(service: Service) -> list[tuple[str, str]]:
    """Method and path of each route of the page."""

    def each() -> Iterator[Any]:
        for one in service.app.routes:
            yield one
            yield from getattr(getattr(one, "original_router", None), "routes", ())

    own = [one for one in each() if getattr(one, "path", "").startswith("/page")]
    found = sorted({(method, one.path) for one in own for method in one.methods if method != "HEAD"})
    assert len(found) >= 18, found
    return found


def stored(service: Service) -> dict[str, list[Any]]:
    """Everything that an act could change."""
    with service.database.reading() as connection:
        return {
            name: [tuple(row) for row in connection.execute(select(table))]
            for name, table in METADATA.tables.items()
            if name != "tokens"
        }
