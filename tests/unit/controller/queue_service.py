"""A process with the durable queue and stand-ins for the operations' processes: `python queue_service.py FOLDER`.

A stand-in appends a line to FOLDER/runs when it begins and ends, and works until FOLDER/release has its stack's name.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hosted_mesh_controller import json_logs
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.work.queue import DurableQueue
from hosted_mesh_controller.work.runner import Runner

from tests.unit.controller.service import Service

STAND_IN = """
import json, os, sys, time
from pathlib import Path
folder, request = Path(sys.argv[1]), json.loads(sys.stdin.readline())
stack = request["stack"]
def note(word):
    with (folder / "runs").open("a") as file:
        file.write(f"{word} {stack} {request['unfinished_since'] is not None}\\n")
note("begin")
print(json.dumps({"type": "message", "severity": "warning", "text": "works"}), flush=True)
if (folder / "die" / stack).exists():
    (folder / "die" / stack).unlink()
    os._exit(9)
while not (folder / "release" / stack).exists():
    time.sleep(0.02)
    import select
    if select.select([sys.stdin], [], [], 0)[0]:
        note("interrupted")
        sys.exit(0)
note("end")
print(json.dumps({"type": "result", "ok": True, "changes": {"create": 1}, "outputs": {}}), flush=True)
"""


def queue_of(folder: Path, service: Service) -> DurableQueue:
    """The queue on the service's database."""
    command = [sys.executable, "-c", STAND_IN, str(folder)]
    database = Database(service.settings.database_url)
    return DurableQueue(service.settings, database, Runner(service.settings, database, command))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    json_logs.set_up()
    queue_of(folder, Service.make(folder, operations=2, timeoutSeconds=int(sys.argv[2]))).start()
    (folder / "ready").touch()
    while True:
        time.sleep(1)
