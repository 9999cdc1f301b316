"""Chromium without a window, driven by its DevTools protocol over two pipes: no port, no package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LIMIT = 60.0  # seconds of one answer
# The protocol's pipes are descriptors 3 and 4 of the browser.
_SHELL = 'exec "${@:3}" 3<&"$1" 4>&"$2"'
_OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--no-first-run", "--no-proxy-server", "--disable-background-networking"),
)


class PageError(Exception):
    """The browser's answer is an error."""


@dataclass
class Browser:
    """One page. requests, answers: descriptors of the pipes."""

    requests: int
    answers: int
    session: str = ""
    _last: int = 0
    _rest: bytes = field(default=b"", repr=False)

    def open(self, url: str) -> None:
        """Starts to load a page."""
        self.call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The JSON value of an expression of JavaScript in the page. Raises PageError."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise PageError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    def words(self, selector: str) -> str:
        """The visible text of an element; empty without one."""
        return str(self.evaluate(f"(document.querySelector({json.dumps(selector)}) || {{innerText: ''}}).innerText"))

    def picture(self, file: Path) -> None:
        """Writes the page as it is now as a PNG."""
        answer = self.call("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(answer["data"]))

    def click(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def type(self, text: str) -> None:
        """Into the element with the focus."""
        self.call("Input.insertText", text=text)

    def call(self, method: str, **parameters: Any) -> Any:
        """A command of the protocol, to the page once there is one. Raises PageError."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']}")
                return answer["result"]
        raise PageError(f"{method}: the browser has ended")

    def _messages(self) -> Iterator[Any]:
        deadline = time.monotonic() + _LIMIT
        while True:
            while b"\0" in self._rest:
                one, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(one)
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise PageError(f"the browser has not answered within {_LIMIT:g} s")
            if not (read := os.read(self.answers, 1 << 16)):
                return
            self._rest += read


@contextlib.contextmanager
def opened(program: Path, folder: Path, *, width: int = 1400, height: int = 860) -> Iterator[Browser]:
    """A browser with an empty page, ended with the block. folder: for its profile and its log."""
    to_browser, requests = os.pipe()
    answers, from_browser = os.pipe()
    options = [*_OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}", "about:blank"]
    command = ["bash", "-c", _SHELL, "bash", str(to_browser), str(from_browser), str(program), *options]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=(to_browser, from_browser))
    os.close(to_browser)
    os.close(from_browser)
    try:
        found = Browser(requests, answers)
        made = found.call("Target.createTarget", url="about:blank")
        attached = found.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        found.session = attached["sessionId"]
        found.call("Page.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        found.call("Emulation.setDeviceMetricsOverride", **size)
        yield found
    finally:
        os.close(requests)
        os.close(answers)
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
