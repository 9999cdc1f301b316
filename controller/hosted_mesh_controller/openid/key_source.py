"""The keys of one issuer, read over HTTPS and kept for a while. No request waits long for an issuer."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.openid.issuers import Issuer, is_https
from hosted_mesh_controller.openid.signatures import Key, Keys, public_keys
from hosted_mesh_controller.openid.strict_json import read_object

LOG: Final = logging.getLogger(__name__)
LARGEST: Final = 256 * 1024
"""Bytes of a document of an issuer."""
TIMEOUT: Final = 5.0
"""Seconds for both documents together."""
PAUSE: Final = 10.0
"""Seconds between two readings, so that tokens with made-up keys cause no more."""
FRESH: Final = 300.0
"""Seconds until keys are read again, while the earlier ones serve."""
MOST_AGE: Final = 3600.0
"""Seconds until keys serve no more: of an issuer that is away, or has withdrawn them."""
_MOST_WAITING: Final = 4
"""Requests that wait at a time: eight issuers leave threads of the interface for others."""


class AwayError(Exception):
    """The keys of an issuer cannot be read now."""

    def __init__(self, reason: str, issuer: str) -> None:
        super().__init__(reason)
        self.reason, self.issuer = reason, issuer


class _ReadingError(Exception):
    """A document cannot be used. Its text has nothing of the document."""


class KeySource:
    """Keys of one issuer. name: its name in logs. changed: called after each reading."""

    def __init__(self, name: str, issuer: Issuer, changed: Callable[[], None]) -> None:
        self._name, self._issuer, self._changed = name, issuer, changed
        self._state = threading.Condition()
        self._keys: Keys = {}
        self._read_at = self._tried_at = float("-inf")
        self._is_reading, self._waiting = False, 0
        self._failure: str | None = None

    @property
    def is_away(self) -> bool:
        """Whether the last reading failed."""
        return self._failure is not None

    def begin(self) -> None:
        """Reads the keys in the background."""
        with self._state:
            self._begin()

    def find(self, identifier: str, family: str) -> Key | None:
        """A key; None if the issuer does not have it. Raises: AwayError."""
        with self._state:
            key = self._usable(identifier, family)
            if key is not None:
                if time.monotonic() - self._read_at >= FRESH:
                    self._begin()
                return key
            if self._begin():
                self._wait()
            if self._failure is not None:
                raise AwayError(self._failure, self._name)
            return self._usable(identifier, family)

    def _usable(self, identifier: str, family: str) -> Key | None:
        return self._keys.get((identifier, family)) if time.monotonic() - self._read_at < MOST_AGE else None

    def _begin(self) -> bool:
        """Starts a reading unless the last one is too near; whether one runs."""
        if self._is_reading:
            return True
        if time.monotonic() - self._tried_at < PAUSE:
            return False
        self._is_reading, self._tried_at = True, time.monotonic()
        threading.Thread(target=self._run, name=f"openid-{self._name}", daemon=True).start()
        return True

    def _wait(self) -> None:
        """Waits for the end of the reading. Raises: AwayError."""
        left = self._tried_at + TIMEOUT + 1 - time.monotonic()
        if self._waiting >= _MOST_WAITING or left <= 0:
            raise AwayError("does not answer yet", self._name)
        self._waiting += 1
        try:
            if not self._state.wait_for(lambda: not self._is_reading, left):
                raise AwayError("does not answer in time", self._name)
        finally:
            self._waiting -= 1

    def _run(self) -> None:
        keys, failure = self._keys, "failed"
        try:
            keys, failure = asyncio.run(asyncio.wait_for(_read(self._issuer), TIMEOUT)), ""
        except _ReadingError as error:
            failure = str(error)
        except TimeoutError:
            failure = "does not answer in time"
        except (httpx2.HTTPError, OSError, ValueError) as error:
            failure = f"cannot be read: {_reason(error)}"
        finally:
            with self._state:
                if not failure:
                    self._keys, self._read_at = keys, time.monotonic()
                was_away, self._failure = self.is_away, failure or None
                self._is_reading = False
                self._state.notify_all()
            if failure:
                LOG.warning("issuer is away", extra=facts(issuer=self._name, reason=failure))
            elif was_away:
                LOG.info("issuer is back", extra=facts(issuer=self._name, keys=len(keys)))
            self._changed()


def trust(issuer: Issuer) -> ssl.SSLContext:
    """The authorities for an issuer's addresses. Raises: OSError, which ssl.SSLError is."""
    return ssl.create_default_context(cafile=issuer.certificate_authority)


async def _read(issuer: Issuer) -> Keys:
    # An API server refuses Accept: application/json for its keys.
    headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
    async with httpx2.AsyncClient(
        verify=trust(issuer), timeout=TIMEOUT, headers=headers, follow_redirects=False
    ) as http:
        address = issuer.jwks_url or jwks_uri(await _document(http, issuer.discovery, "discovery"), issuer)
        keys = await _document(http, address, "keys")
        try:
            found = public_keys(keys)
        except ValueError as error:
            raise _ReadingError(f"the keys' document cannot be used: {error}") from None
        if not found:
            raise _ReadingError("the keys' document has no usable key")
        return found


def jwks_uri(discovery: Mapping[str, Any], issuer: Issuer) -> str:
    """The address of the keys in a discovery document of this very issuer."""
    if discovery.get("issuer") != issuer.url:
        raise _ReadingError("the discovery document is of another issuer")
    address = discovery.get("jwks_uri")
    if not is_https(address, with_query=True):
        raise _ReadingError("the discovery document has no jwks_uri of HTTPS")
    return str(address)


async def _document(http: httpx2.AsyncClient, url: str, document: str) -> Mapping[str, Any]:
    content = bytearray()
    async with http.stream("GET", url) as response:
        if response.status_code != 200:
            raise _ReadingError(f"the {document} document has status {response.status_code}")
        async for part in response.aiter_raw():
            content += part
            if len(content) > LARGEST:
                raise _ReadingError(f"the {document} document has more than {LARGEST} bytes")
    try:
        return read_object(bytes(content))
    except ValueError:
        raise _ReadingError(f"the {document} document is not a JSON object") from None


def _reason(error: BaseException) -> str:
    """The kind of an error, and of OpenSSL's the reason. Texts of others may quote an answer."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
