"""Prints etcd's content: `python etcd_dump.py PORT CA CERTIFICATE KEY keys | since REVISION | revision`.

Runs in the node's namespace, by its path: importing the package around it takes a third of a second. Prints one JSON
array [key, value] per line, both base64, and `null` at the end. It reads etcd's JSON gateway with the standard library:
first every live key page by page, then, by a watch from the first kept revision, every earlier value.
`keys` prints only the live keys, without values. `since` prints the values written after a revision. `revision` prints
the number of the latest write, as the value of an empty key.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import sys
from collections.abc import Iterable, Iterator
from typing import Any

_PAGE, _KEYS = 200, 10_000  # in one answer, with values and without
_FIRST, _END = b"\0", b"\0"  # as a range: every key
_TIMEOUT = 30  # seconds
Item = tuple[str, str]


class Etcd:
    """The JSON gateway of one etcd."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port, self._tls = port, tls

    def live(self, *, keys_only: bool = False, since: int = 0) -> Iterator[tuple[Item, int]]:
        """Every current key written after the revision `since`, with the revision of its value.

        All pages are read at one revision.
        """
        start, revision, page_size = _FIRST, 0, _KEYS if keys_only else _PAGE
        while True:
            query = {"key": _text(start), "range_end": _text(_END), "limit": page_size, "revision": revision}
            query["keys_only"] = keys_only
            if since:  # with it etcd reads the whole rest for each page
                query["min_mod_revision"] = since + 1
            with self._post("/v3/kv/range", query) as answer:
                page = json.load(answer)
            revision = int(page["header"]["revision"])
            pairs = page.get("kvs", [])
            for pair in pairs:
                yield _item(pair), int(pair["mod_revision"])
            if not page.get("more"):
                return
            start = base64.b64decode(pairs[-1]["key"]) + b"\0"

    def history(self, until: int, since: int) -> Iterator[tuple[Item, int]]:
        """Every value written after the revision `since` and up to `until`, as far back as etcd keeps them."""
        start = since + 1
        while True:
            request = {"key": _text(_FIRST), "range_end": _text(_END), "start_revision": start}
            with self._post("/v3/watch", {"create_request": request}) as answer:
                for line in answer:
                    result = json.loads(line)["result"]
                    if "compact_revision" in result:
                        start = int(result["compact_revision"])
                        break
                    for event in result.get("events", []):
                        revision = int(event["kv"]["mod_revision"])
                        if event.get("type") != "DELETE":
                            yield _item(event["kv"]), revision
                    if result.get("events") and revision >= until:
                        return
                else:
                    raise OSError("etcd ended the watch before its end")

    def revision(self) -> int:
        """The revision of the latest write."""
        with self._post("/v3/kv/range", {"key": _text(b"-")}) as answer:
            return int(json.load(answer)["header"]["revision"])

    def _post(self, path: str, body: dict[str, Any]) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection("localhost", self._port, context=self._tls, timeout=_TIMEOUT)
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"etcd answered {answer.status} to {path}: {answer.read(500)!r}")
        return answer


def items(etcd: Etcd, since: int) -> Iterator[Item]:
    """Live values, then values of earlier revisions, written after a revision."""
    until = etcd.revision()
    seen = set()
    for item, revision in etcd.live(since=since):
        seen.add((item[0], revision))
        yield item
    # Revision 1 is an etcd without writes. A watch would wait there for an event that never comes.
    if until > max(since, 1):
        yield from (item for item, revision in etcd.history(until, since) if (item[0], revision) not in seen)


def _item(pair: dict[str, str]) -> Item:
    return pair["key"], pair.get("value", "")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    port, authority, certificate, key, *options = sys.argv[1:]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    etcd = Etcd(int(port), context)
    found: Iterable[Item]
    match options:
        case ["revision"]:
            found = [("", _text(str(etcd.revision()).encode()))]
        case ["keys"]:
            found = (item for item, _ in etcd.live(keys_only=True))
        case ["since", revision]:
            found = items(etcd, int(revision))
    for one in found:
        print(json.dumps(one))
    print("null")
