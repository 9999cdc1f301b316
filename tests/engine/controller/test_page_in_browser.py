"""The page in Chromium, on the real engine: a mesh from a document to its removal, and another site's forms."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import toolchain
from sandbox.progress import Progress
from tests.engine.controller.service import NAMESPACE, Controller, namespaces
from tests.engine.library.engine import Api
from tests.support import browser
from tests.support.browser import Browser, PageError
from tests.support.serving import serving
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly  # the tests of the interface have the rights; a browser takes minutes to make

Config = dict[str, Any]
ACME = "/page/tenants/acme"
MESH = f"{ACME}/objects/meshes/demo"


@pytest.fixture
def page(tmp_path: Path, progress: Progress) -> Iterator[Browser]:
    tools = toolchain.ensure({"chromium"}, progress=progress)
    (tmp_path / "browser").mkdir()
    with browser.opened(tools["chromium"], tmp_path / "browser") as found:
        yield found


def shows(page: Browser, *words: str) -> bool:
    try:
        text = page.words("body")
    except PageError:  # between two pages
        return False
    return all(one in text for one in words)


def wait(page: Browser, *words: str, seconds: float = 120) -> None:
    try:
        eventually(lambda: shows(page, *words), seconds=seconds)
    except AssertionError:
        raise AssertionError(f"{words} are not on the page: {page.words('body')[:3000]}") from None


def press(page: Browser, text: str) -> None:
    """A click on the button or link with this text, by the mouse."""
    place = page.evaluate(
        f"""(() => {{
          const all = [...document.querySelectorAll("button,a")];
          const one = all.find(one => one.innerText.trim() === {json.dumps(text)});
          one.scrollIntoView({{block: "center"}});
          const place = one.getBoundingClientRect();
          return [place.x + place.width / 2, place.y + place.height / 2];
        }})()"""
    )
    page.click(*place)


def write(page: Browser, selector: str, text: str) -> None:
    page.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
    page.type(text)


@contextmanager
def another_site(content: str) -> Iterator[int]:
    """The port of a site with one page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield server.server_port


@pytest.mark.usefixtures("clean")
def test_a_mesh_by_the_page(
    controller: Controller, documents: Config, provider: Api, page: Browser, tmp_path: Path
) -> None:
    pictures = Path(os.environ.get("HOSTED_MESH_PAGES", tmp_path))
    client = controller.client()
    page.open(f"http://x:{controller.tokens['provider']}@127.0.0.1:{controller.port}{ACME}")
    wait(page, "No objects are ordered")
    press(page, "Order an object")
    wait(page, "Documents of the object")
    write(page, "#documents", "mesh: {name: demo}")
    press(page, "Preview")
    wait(page, "mesh.revisions", "is required")
    page.evaluate('document.querySelector("#documents").select()')
    page.type(yaml.safe_dump(documents, sort_keys=False))
    press(page, "Preview")
    wait(page, "Order this", seconds=120)
    assert NAMESPACE not in namespaces(provider)
    press(page, "Order this")
    wait(page, "Create meshes/demo?", "demo-cacerts")
    page.picture(pictures / "order.png")
    press(page, "Create it")
    wait(page, "up of meshes/demo", "succeeded", seconds=180)
    assert NAMESPACE in namespaces(provider)
    assert client.show("meshes", "demo").state == "ready"

    forms_of_another_site(controller, page)

    page.open(f"{controller.url}{MESH}")
    wait(page, "Run again")
    page.picture(pictures / "object.png")
    press(page, "Remove")
    wait(page, "Remove meshes/demo?")
    press(page, "Preview removal")
    wait(page, "preview-destroy of meshes/demo", "succeeded", seconds=120)
    press(page, "Remove")
    wait(page, "Remove meshes/demo?", "demo-cacerts")
    write(page, "#name", "another")
    press(page, "Remove it")
    wait(page, "nothing was done", "must be demo")
    page.picture(pictures / "remove.png")
    assert client.show("meshes", "demo").state == "ready"
    write(page, "#name", "demo")
    press(page, "Remove it")
    wait(page, "destroy of meshes/demo", "succeeded", seconds=180)
    assert list(client.objects("meshes")) == []
    assert NAMESPACE not in namespaces(provider)
    actions = [one.action for one in client.operations()]
    assert actions == ["destroy", "preview-destroy", "up", "preview-up"]


def forms_of_another_site(controller: Controller, page: Browser) -> None:
    """The browser sends its password, and the forms have a stolen proof; still they change nothing."""
    page.open(f"{controller.url}{MESH}/apply")
    wait(page, "Run it again")
    fields = page.evaluate(
        """[...document.querySelectorAll("input[type=hidden]")].map(one => one.outerHTML).join("")"""
    )
    before = [one.id for one in controller.client().operations()]
    form = f'<form method="post" action="{controller.url}{MESH}/apply">{fields}<button>Win</button></form>'
    with another_site(f"{form}<script>document.forms[0].submit()</script>") as port:
        # Another port is another origin of the same site: the browser sends the cookie.
        for host in ("127.0.0.1", "localhost"):
            page.open(f"http://{host}:{port}/")
            wait(page, "Forbidden", "does not come from this page")
    assert [one.id for one in controller.client().operations()] == before
