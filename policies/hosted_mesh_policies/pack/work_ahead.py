"""Reading what resources say while the engine is busy with the next ones, so that the end of a preview waits less.

Nearly all that judging takes is reading: every text in every decoding. That needs one resource alone, while the verdict
needs the whole stack, and the engine waits for it. So a thread reads resources as they come by. It computes what the
judgement would compute, by the same functions, and says nothing: where it fails, or has no room, the judgement reads
again, and whatever is wrong with a resource is told by that.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Final

from ..detect.search.tree_text import Text, asked_text
from ..detect.value.cleared_texts import Read, batches, reading
from ..evaluation.context import Ahead
from ..plan.model import Resource

MOST_KEPT: Final = 256 * 1024 * 1024
"""Bytes of what was read; some four kilobytes for each resource of a kilobyte."""
MOST_KEPT_OF_ONE: Final = 1024 * 1024
"""Of one batch. What says so much more than others is packed, and may say much more still."""


@dataclass
class WorkAhead:
    """One preview's. `add` does not wait; `done` waits until all that was added is read."""

    most_kept: int = MOST_KEPT
    _come: SimpleQueue[Resource | None] = field(default_factory=SimpleQueue)
    _texts: dict[str, tuple[Resource, Text]] = field(default_factory=dict)
    _read: list[Read] = field(default_factory=list)
    _kept: int = 0
    _thread: threading.Thread | None = None

    def add(self, resource: Resource) -> None:
        """Takes Kubernetes objects but Secrets: of what the control plane's Secrets say nothing is asked."""
        if not resource.is_kubernetes or resource.type.endswith(":Secret"):
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)  # or the process could not end before it
            self._thread.start()
        self._come.put(resource)

    def done(self) -> Ahead:
        if self._thread is not None:
            self._come.put(None)
            self._thread.join()
        return Ahead(self._texts, self._read)

    def _work(self) -> None:
        with contextlib.suppress(Exception):  # whose text may quote a value, and the engine would show it
            for batch in batches(self._texts_as_they_come()):
                with contextlib.suppress(Exception):
                    self._keep(batch)

    def _texts_as_they_come(self) -> Iterator[bytes]:
        for resource in iter(self._come.get, None):
            with contextlib.suppress(Exception):
                text = asked_text(resource)
                self._texts[resource.urn] = resource, text
                yield text.buffer

    def _keep(self, batch: list[bytes]) -> None:
        said: list[bytes] = []
        size = 0
        for one in reading(batch):
            said.append(one)
            size += len(one)
            if size > min(MOST_KEPT_OF_ONE, self.most_kept - self._kept):
                return
        self._read.append(Read(frozenset(batch), tuple(said)))
        self._kept += size
