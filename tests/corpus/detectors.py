"""Which detector sees which kind of value, and when: each is asked alone about a case of the corpus.

`docs/policies/credentials.md` has the table. To write it anew:

    python3 -m tests.corpus.detectors
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.rules.credentials import FLOW, SHAPE, VALUE
from hosted_mesh_policies.rules.unproven import UNPROVEN

from tests.corpus.cases import CASES
from tests.corpus.simulated_engine import run, simulate

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "policies" / "credentials.md"
PLACE: Final = re.compile(r"(?<=<!-- detectors -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)
DETECTORS: Final = {"flow": FLOW, "value": VALUE, "shape": SHAPE}
KINDS: Final = {
    "a generated key, not known yet": "direct: key in ConfigMap",
    "a generated password, not known yet": "direct: password in ConfigMap",
    "random bytes, not known yet": "direct: bytes in ConfigMap",
    "a key or password at the second update, known": "timing: second update",
    "a value of a Secret of the control plane's": "direct: Secret of the provider's cluster in ConfigMap",
    "secret configuration that the control plane has too": "direct: configuration in ConfigMap",
    "a known secret in any wrapping": "wrapped value: token under base64",
    "a known secret, cut into pieces side by side": "cut: pieces of 3 in keys",
    "a known secret, exclusive-or": "disguised: password exclusive-or",
    "another stack's output, marked secret": "stack reference: another stack's secret in ConfigMap",
    "another stack's output whose mark was taken off": (
        "stack reference: another stack's secret, unmarked, in ConfigMap"
    ),
    "a certificate's copy of its key": "indirect: a certificate's copy of its key",
    "a private key as a literal": "shape: private key in ConfigMap",
    "another cluster's kubeconfig in a Secret": "shape: kubeconfig in Secret",
    "a cloud's key as a literal": "shape: AWS key in ConfigMap",
    "a secret that only the update has": "timing: program differs in the update",
}
"""A case for each kind of value."""


def sees(rule: Rule, name: str) -> str:
    """When a rule speaks of a case for the first time, if it is the only one. In an update, whether it knows a secret
    before the write hangs on which of two resources comes first, so that is not told apart."""
    verdict = simulate(CASES[name], (rule,))
    return "preview" if verdict.preview else "update" if verdict.before_write or verdict.after else "-"


def unproven(name: str) -> str:
    """Whether an update without preview is stopped, by the rule about secrets of unproven owner alone."""
    case = CASES[name]
    refused, *_ = run(case.program, preview=False, state={}, rules=(UNPROVEN,), stack=case.stack)
    return "refused" if refused else "-"


def table() -> str:
    """As Markdown."""
    rows = [["kind of value", *DETECTORS, "without preview"], ["---"] * (len(DETECTORS) + 2)]
    for kind, name in KINDS.items():
        rows.append([kind, *(sees(rule, name) for rule in DETECTORS.values()), unproven(name)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    made = table()
    PAGE.write_text(PLACE.sub(lambda _: made, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
