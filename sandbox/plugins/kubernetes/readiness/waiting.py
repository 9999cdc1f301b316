"""The loop: looks at what a condition needs again and again, ends when it is ready, late or cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sandbox.plugins.kubernetes.api_server.client import ApiError, Client
from sandbox.plugins.kubernetes.api_server.discovery import ClusterError, Discovery
from sandbox.plugins.kubernetes.objects import Gvk, Object, get, gvk_of, name_of, namespace_of
from sandbox.plugins.kubernetes.readiness.verdict import ENDPOINTS, Condition, Verdict, View

# After a change of Endpoints more may follow; the official plug-in gives them this long, and so does the stand-in.
SETTLE_SECONDS: Final = 10.0
# Between two looks: most waits are over at once, and the others are long.
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5


class NotReady(Exception):
    """The wait ended without success. live: the object as last seen. reasons: why it is not ready."""

    def __init__(self, message: str, live: Object, reasons: tuple[str, ...]) -> None:
        super().__init__(message)
        self.live = live
        self.reasons = reasons


@dataclass(frozen=True)
class Waiting:
    """Waits for objects of one cluster. cancelled: set when the engine wants everything to stop."""

    client: Client
    discovery: Discovery
    cancelled: threading.Event

    def until_ready(
        self, condition: Condition, target: Object, *, seconds: float, note: Callable[[str], None]
    ) -> Object:
        """The live object once it is ready. seconds: the most to wait. note: told what for. Raises NotReady."""
        own: Object | None = None
        others: Mapping[Gvk, Mapping[str, Object]] = {}
        endpoints: Object | None = None
        changes: list[float] = []
        told, path = "", self._path(target)
        for last in self._looks(condition.seconds or seconds):
            # An API server may be away for a moment: then what was seen last still counts.
            with suppress(ClusterError):
                own, others = self._get(path), self._others(condition, target)
            if (now := others.get(ENDPOINTS, {}).get(name_of(target))) != endpoints:
                endpoints = now
                changes.append(time.monotonic())
            verdict = condition.judge(View(target, own, others, is_settled(changes, time.monotonic()), last))
            if verdict.done:
                return own or target
            if verdict.note != told and not last:
                told = verdict.note
                note(told)
        if self.cancelled.is_set():
            message = f'Resource operation was cancelled for "{name_of(target)}"'
        else:
            message = f"'{name_of(target)}' timed out waiting to be Ready"
        raise NotReady(message, own or target, verdict.reasons)

    def judge_now(self, condition: Condition, live: Object) -> Verdict:
        """The judgement at this moment, for a refresh."""
        try:
            others = self._others(condition, live)
        except ApiError:
            others = {}
        return condition.judge(View(live, live, others, settled=True))

    def until_gone(self, target: Object, *, seconds: float, note: Callable[[str], None]) -> None:
        """Returns once the object does not exist any more. Raises NotReady."""
        live, path = target, self._path(target)
        for last in self._looks(seconds):
            tolerated = () if last else (ClusterError,)
            with suppress(*tolerated):
                found = self._get(path)
                # Another object of the same name is no reason to wait: somebody makes it again and again.
                if found is None or get(found, "metadata", "uid") != get(target, "metadata", "uid"):
                    return
                live = found
            if not last:
                note("Resource scheduled for deletion")
        finalizers = ", ".join(get(live, "metadata", "finalizers") or ())
        reasons = (f"finalizers might be preventing deletion ({finalizers})",) if finalizers else ()
        message = "context canceled" if self.cancelled.is_set() else "timed out waiting for the condition"
        raise NotReady(message, live, reasons)

    def _looks(self, seconds: float) -> Iterator[bool]:
        """Comes back whenever it is time to look; True for the last look, when the time is over or all is cancelled."""
        deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while not self.cancelled.is_set() and time.monotonic() < deadline:
            yield False
            self.cancelled.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        yield True

    def _path(self, target: Object) -> str:
        return self.discovery.find(gvk_of(target)).path(namespace_of(target), name_of(target))

    def _get(self, path: str) -> Object | None:
        try:
            return self.client.request("GET", path)
        except ApiError as error:
            if error.is_not_found:
                return None
            raise

    def _others(self, condition: Condition, target: Object) -> dict[Gvk, dict[str, Object]]:
        found = {}
        for kind in condition.others:
            path = self.discovery.find(kind).path(namespace_of(target))
            found[kind] = {name_of(item): item for item in self.client.request("GET", path).get("items") or ()}
        return found


def is_settled(changes: Sequence[float], now: float) -> bool:
    """Whether Endpoints are quiet: changes and now are seconds of one clock, the changes in order.

    In the official plug-in each change starts a timer. The end of a timer says that all is quiet, whichever change it
    belongs to; the next change takes that back.
    """
    return any(changes[-1] <= change + SETTLE_SECONDS <= now for change in changes)
