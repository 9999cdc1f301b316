"""An executor with stand-ins for the operations' processes: `python -m tests.engine.controller.executor FOLDER NAME`.

FOLDER/settings.yaml has the settings. A stand-in appends a line to FOLDER/runs when it begins and ends, works until
FOLDER/release has its stack's name, and ends without its lease as an operation's process does.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from hosted_mesh_controller import json_logs
from hosted_mesh_controller.settings import read_settings
from hosted_mesh_controller.store import executors
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.work.membership import Membership
from hosted_mesh_controller.work.queue import DurableQueue
from hosted_mesh_controller.work.runner import Runner

STAND_IN = """
import json, os, select, sys, time
from pathlib import Path
folder, name = Path(sys.argv[1]), sys.argv[2]
line = b""
while not line.endswith(b"\\n"):
    line += os.read(0, 1)
request = json.loads(line)
def note(word):
    with (folder / "runs").open("a") as file:
        file.write(f"{word} {request['stack']} {name} {time.time()}\\n")
note("begin")
print(json.dumps({"type": "message", "severity": "warning", "text": "works"}), flush=True)
heard = time.monotonic()
while not (folder / "release" / request["stack"]).exists():
    if select.select([0], [], [], 0.05)[0]:
        if not os.read(0, 4096):
            break
        heard = time.monotonic()
    if time.monotonic() - heard > request["lease_seconds"]:
        break
else:
    note("end")
    print(json.dumps({"type": "result", "ok": True, "changes": {"create": 1}, "outputs": {}}), flush=True)
    sys.exit(0)
note("interrupted")
"""


def main(folder: Path, name: str) -> None:
    json_logs.set_up()
    settings = read_settings(folder / "settings.yaml")
    database = Database(settings.database_url)
    command = [sys.executable, "-S", "-c", STAND_IN, str(folder), name]
    queue = DurableQueue(settings, database, Runner(settings, database, command, name), name)
    executors.join(database, name)
    queue.start()
    membership = Membership(settings, database, queue, name, lambda: (folder / "leader").write_text(name))
    membership.start()

    def leave(*_: object) -> None:
        membership.leave()
        os._exit(0)  # as the service

    signal.signal(signal.SIGTERM, leave)
    (folder / f"ready-{name}").touch()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
