"""The pack as a process: what it serves, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import message_factory
from hosted_mesh_policies.pack.server import Analyzer
from hosted_mesh_policies.rules.catalogue import RULES
from pulumi.runtime.proto import analyzer_pb2

from sandbox.bootstrap import CHECKOUT
from tests.support.waiting import eventually

SERVICE = analyzer_pb2.DESCRIPTOR.services_by_name["Analyzer"]


PACK = (str(CHECKOUT / "policies" / "hosted-mesh"),)


@contextmanager
def running(*under: str, pack: Sequence[str] = PACK) -> Iterator[tuple[subprocess.Popen[bytes], grpc.Channel]]:
    command = [*under, sys.executable, *pack]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
                yield process, channel
        finally:
            process.kill()


def answer(channel: grpc.Channel, method: Any, request: Any = None) -> grpc.StatusCode:
    """request: else an empty one."""
    request = request or message_factory.GetMessageClass(method.input_type)()
    call: Any = channel.unary_unary(
        f"/{SERVICE.full_name}/{method.name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )
    try:
        call(request, timeout=20)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


def test_every_method_of_the_protocol_is_served_but_the_one_that_changes_resources() -> None:
    """A method that a new version of the protocol brings has to be decided on, not forgotten."""
    with running() as (_, channel):
        codes = {method.name: answer(channel, method) for method in SERVICE.methods}
    assert codes.pop("Remediate") is grpc.StatusCode.UNIMPLEMENTED
    assert set(codes.values()) == {grpc.StatusCode.OK}


IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""As a script's `&` starts something: with SIGINT ignored."""


def _ends_when_interrupted(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert process.stderr is not None
    assert not process.stderr.read()


@pytest.mark.parametrize("under", [(), IN_THE_BACKGROUND], ids=["in front", "in the background"])
def test_the_pack_ends_when_the_engine_interrupts_it(under: tuple[str, ...]) -> None:
    """Else the engine waits five seconds and then kills the pack."""
    with running(*under) as (process, _):
        _ends_when_interrupted(process)


SLOW = """
import sys, time
from hosted_mesh_policies.pack.server import serve

class Slow:
    write = sys.stdout.write

    def flush(self):
        sys.__stdout__.flush()
        time.sleep(1)

sys.stdout = Slow()
serve()
"""
"""Does nothing for a second once the engine can read its port."""


@pytest.mark.parametrize("pack", ["policies/hosted-mesh", f"-c '{SLOW}'"], ids=["the pack", "a slow one"])
def test_the_pack_ends_when_the_engine_is_killed(pack: str) -> None:
    """Seen before: packs of killed engines stayed, each with some hundred MB."""
    command = f"cd {CHECKOUT}; {sys.executable} {pack} & echo $!; wait"
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        process, _port = (int(engine.stdout.readline()) for _ in range(2))
        engine.kill()
    eventually(lambda: not Path(f"/proc/{process}").exists(), seconds=60)


def test_what_no_rule_could_look_at_is_refused_whatever_level_one_rule_has() -> None:
    cut_short = b"\x12\x05a"
    first = next(rule for rule in RULES if rule.mandatory)
    advisory = analyzer_pb2.PolicyConfig(enforcementLevel=analyzer_pb2.ADVISORY)
    analyzer = Analyzer({})
    analyzer.configure(analyzer_pb2.ConfigureAnalyzerRequest(policyConfig={first.name: advisory}), None)
    for said in (analyzer.analyze(cut_short, None), analyzer.analyze_stack(b"\x0a\x03" + cut_short, None)):
        assert [one.enforcementLevel for one in said.diagnostics] == [analyzer_pb2.MANDATORY]
        assert "could not evaluate" in said.diagnostics[0].message
