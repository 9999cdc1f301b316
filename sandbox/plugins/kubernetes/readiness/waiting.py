"""The loop: watches what a condition needs, judges on every event, ends when ready, failed, late or cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from sandbox.plugins.kubernetes.client import ApiError, Client
from sandbox.plugins.kubernetes.discovery import Discovery
from sandbox.plugins.kubernetes.objects import Object, get, gvk_of, name_of, namespace_of
from sandbox.plugins.kubernetes.readiness.verdict import ENDPOINTS, OTHERS, OWN, Condition, Verdict, View
from sandbox.plugins.kubernetes.watching import Watching

# After a change of Endpoints more may follow; the official plug-in gives them this long, and so does the stand-in.
SETTLE_SECONDS: Final = 10.0
_TICK: Final = 0.25  # seconds: how late a cancellation or a timer may be noticed


class NotReady(Exception):
    """The wait ended without success. live: the object as last seen. reasons: why it is not ready."""

    def __init__(self, message: str, live: Object, reasons: tuple[str, ...]) -> None:
        super().__init__(message)
        self.live = live
        self.reasons = reasons


class Waiting:
    """Waits for objects of one cluster. cancelled: set when the engine wants everything to stop."""

    def __init__(self, client: Client, discovery: Discovery, cancelled: threading.Event) -> None:
        self._client = client
        self._discovery = discovery
        self._cancelled = cancelled

    def until_ready(
        self,
        condition: Condition,
        target: Object,
        *,
        seconds: float,
        note: Callable[[str], None],
    ) -> Object:
        """The live object once it is ready. seconds: the most to wait. note: told what for. Raises NotReady."""
        deadline = time.monotonic() + (condition.seconds or seconds)
        with Watching(self._client) as watching:
            self._start(watching, condition, target)
            last_note = ""
            while True:
                view = self._view(watching, condition, target)
                verdict = condition.judge(view)
                if verdict.done:
                    return view.own or target
                if verdict.failed:
                    message = f"Resource '{name_of(target)}' was created but failed to initialize"
                    raise NotReady(message, view.own or target, verdict.reasons)
                if self._cancelled.is_set() or time.monotonic() >= deadline:
                    return self._last_look(watching, condition, target)
                if verdict.note != last_note:
                    last_note = verdict.note
                    note(last_note)
                watching.wait(_TICK)

    def _last_look(self, watching: Watching, condition: Condition, target: Object) -> Object:
        view = self._view(watching, condition, target, last=True)
        verdict = condition.judge(view)
        if verdict.done:
            return view.own or target
        if self._cancelled.is_set():
            message = f'Resource operation was cancelled for "{name_of(target)}"'
        else:
            message = f"'{name_of(target)}' timed out waiting to be Ready"
        raise NotReady(message, view.own or target, verdict.reasons)

    def judge_now(self, condition: Condition, live: Object) -> Verdict:
        """The judgement at this moment, for a refresh."""
        others = {}
        for name in condition.watches:
            path = self._discovery.find(OTHERS[name]).path(namespace_of(live))
            try:
                items = self._client.request("GET", path).get("items", [])
            except ApiError:
                items = []
            others[name] = {name_of(item): item for item in items}
        return condition.judge(View(live, live, others, settled=True))

    def until_gone(self, target: Object, *, seconds: float, note: Callable[[str], None]) -> None:
        """Returns once the object does not exist any more. Raises NotReady."""
        deadline = time.monotonic() + seconds
        path = self._discovery.find(gvk_of(target)).path(namespace_of(target), name_of(target))
        live = self._get(path)
        if live is None:
            return
        with Watching(self._client) as watching:
            self._watch_own(watching, target)
            while True:
                there = watching.objects(OWN).get(name_of(target))
                # Another object of the same name is no reason to wait: somebody makes it again and again.
                if watching.has_listed(OWN) and get(there, "metadata", "uid") != get(live, "metadata", "uid"):
                    return
                if self._cancelled.is_set() or time.monotonic() >= deadline:
                    break
                note("Resource scheduled for deletion")
                watching.wait(_TICK)
        live = self._get(path)
        if live is None:
            return
        finalizers = ", ".join((live.get("metadata") or {}).get("finalizers") or ())
        reasons = (f"finalizers might be preventing deletion ({finalizers})",) if finalizers else ()
        cancelled = self._cancelled.is_set()
        raise NotReady("context canceled" if cancelled else "timed out waiting for the condition", live, reasons)

    def _get(self, path: str) -> Object | None:
        try:
            return self._client.request("GET", path)
        except ApiError as error:
            if error.is_not_found:
                return None
            raise

    def _start(self, watching: Watching, condition: Condition, target: Object) -> None:
        self._watch_own(watching, target)
        for name in condition.watches:
            path = self._discovery.find(OTHERS[name]).path(namespace_of(target))
            watching.start(name, path)

    def _watch_own(self, watching: Watching, target: Object) -> None:
        path = self._discovery.find(gvk_of(target)).path(namespace_of(target))
        watching.start(OWN, path, name=name_of(target))

    def _view(
        self,
        watching: Watching,
        condition: Condition,
        target: Object,
        *,
        last: bool = False,
    ) -> View:
        others = {name: watching.objects(name) for name in condition.watches}
        settled = condition.settles and is_settled(watching.events_of(ENDPOINTS, name_of(target)), time.monotonic())
        own = watching.objects(OWN).get(name_of(target))
        return View(target, own, others, settled, last)


def is_settled(events: Sequence[float], now: float) -> bool:
    """Whether Endpoints are quiet: events and now are seconds of one clock, the events in order.

    In the official plug-in each event starts a timer. The end of a timer says that all is quiet, whichever event it
    belongs to; the next event takes that back.
    """
    return any(events[-1] <= event + SETTLE_SECONDS <= now for event in events)
