"""One case of the corpus: a small program, and what must be said about it, by which rule, how early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tests.corpus.world import World

Program = Callable[[World], Any]

FLOW = "control-plane-secrets-do-not-flow-to-data-plane"
VALUE = "control-plane-secret-values-stay-off-data-plane"
SHAPE = "no-credentials-on-data-plane"
UNPROVEN = "secrets-of-unproven-owner-are-not-written"
PROVIDERS = "providers-reach-their-own-cluster"
TRUST = "external-istiod-has-its-own-ca"
WEBHOOKS = "data-plane-webhooks-by-url"
RIGHTS = "istiod-rights-are-least"
EXPOSURE = "exposure-is-hardened"
TENANTS = "tenants-are-apart"
OUTPUTS = "stack-outputs-keep-secrets"
OPERATORS = "operators-stay-with-operands"
USER_IMAGES = "user-images-stay-off-control-plane"


NO_CLOUD = "needs a cloud's account"
NO_CHART = "needs a chart's repository"
NO_REGISTRY = "needs a registry"

WHOLE_STACK = frozenset({"provider", "istiod's CA", "tenant", "output", "operator", "right object", "timing"})


@dataclass(frozen=True)
class Case:
    """`rules` are those of which at least one must speak, at `moment`, the earliest at which it can be known: the first
    preview, or the write during the first update. A clean case has no rules: no mandatory rule may speak.

    `before` is the program of an earlier update, whose state the case's own preview starts from.
    """

    name: str
    family: str
    program: Program
    rules: frozenset[str] = frozenset()
    moment: Literal["preview", "update"] = "preview"
    before: Program | None = None
    stack: str = "corpus"
    only_simulated: str = ""
    """Why the real engine cannot run it: an API server refuses such an object by itself, a plug-in is not there."""

    @property
    def alone(self) -> bool:
        """True for a program that must have a stack to itself: it is about the whole stack, or about two runs."""
        return bool(self.before) or self.moment == "update" or self.family in WHOLE_STACK or self.stack != "corpus"

    @property
    def clean(self) -> bool:
        return not self.rules
