"""The last line of `validate`: the checked parts, and whether the file can be used."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_hosted_mesh.problems import Problem


def closing_line(kind: str, read: Sequence[str], unread: Sequence[Problem]) -> str:
    """kind: of the file. read, unread: its kubeconfigs, as `references_in`."""
    kubeconfigs = f"; read too: {', '.join(read)}" if read else "" if unread else "; it names no kubeconfig"
    end = "It cannot be used from here before the warning is mended" if unread else "It can be used"
    return f"valid, as kind {kind}{kubeconfigs}. No cluster was contacted. {end}"
