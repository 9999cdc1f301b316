"""The engine's own debug log, which it writes of every run."""

from __future__ import annotations

import shutil
from pathlib import Path


def switch_off(pulumi_home: Path) -> None:
    """Keeps the engine from logging every property of every call, compressed and encrypted, into `pulumi_home`/logs.

    It has no option for that. It goes without the log when it cannot make the folder, which is seen to below: with
    Istio's definitions in a stack the log was two thirds of a preview's processor time (4.0 s instead of 13.7 s).
    Errors are printed all the same, and `pulumi --logtostderr -v=9` shows everything when somebody wants to see it.
    """
    logs = pulumi_home / "logs"
    if logs.is_dir():
        shutil.rmtree(logs, ignore_errors=True)
    if not logs.exists():
        logs.write_text("A file in the place of the folder: the engine's debug log is switched off here.\n")
