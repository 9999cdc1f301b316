"""Prints each process of these Pods, as JSON: program, pid, Pod, and its memory in bytes. Runs inside the sandbox.

Arguments: names of Pods. A Pod's name is in HOSTNAME. anonymous: memory that no file backs, so no other process shares.
"""

import json
import sys
from pathlib import Path

pods, found = set(sys.argv[1:]), []
for entry in Path("/proc").iterdir():
    if not entry.name.isdigit():
        continue
    try:
        environment = dict(
            pair.split("=", 1) for pair in (entry / "environ").read_text(errors="replace").split("\0") if "=" in pair
        )
        program = (entry / "cmdline").read_text(errors="replace").split("\0")[0]
        status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
    except OSError:  # it has ended
        continue
    if environment.get("HOSTNAME") in pods and "VmRSS" in status:
        sizes = {name: int(status[key].split()[0]) * 1024 for name, key in (("rss", "VmRSS"), ("anonymous", "RssAnon"))}
        found.append({"program": Path(program).name, "pid": entry.name, "pod": environment["HOSTNAME"], **sizes})
print(json.dumps(found))
