"""Startup, readiness and liveness probes, and the HTTP and exec actions that they share with preStop hooks.

Network probes go out from the node, as kubelet's do, to the Pod's address.

httpx2: the HTTP library that lightkube already brings.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx2
from lightkube.models.core_v1 import Container, HTTPGetAction, Probe

Exec = Callable[[list[str], float], Awaitable[tuple[int, str]]]
_BODY_SHOWN = 120


@dataclass(frozen=True)
class Target:
    """What a probe may reach. run: a command in the container with a time-out in seconds -> exit code, output."""

    container: Container
    address: str
    run: Exec


@dataclass(frozen=True)
class Outcome:
    ok: bool
    message: str = ""


def port_number(container: Container, port: int | str) -> int:
    """A port by number or by its name in the container. Raises ValueError."""
    if isinstance(port, int) or str(port).isdigit():
        return int(port)
    for known in container.ports or []:
        if known.name == port:
            return known.containerPort
    raise ValueError(f'no port named "{port}" in container {container.name}')


async def http_get(target: Target, action: HTTPGetAction, timeout: float) -> Outcome:
    """2xx and 3xx are success; certificates are not checked: both as kubelet does."""
    scheme = (action.scheme or "HTTP").lower()
    host = action.host or target.address
    path = action.path or "/"
    try:
        port = port_number(target.container, action.port)
        url = f"{scheme}://{host}:{port}{'' if path.startswith('/') else '/'}{path}"
        headers = httpx2.Headers({"User-Agent": "kube-probe/sandbox", "Accept": "*/*"})
        headers.update([(header.name, header.value) for header in action.httpHeaders or []])
        async with httpx2.AsyncClient(verify=False, timeout=timeout, trust_env=False) as client:
            answer = await client.get(url, headers=headers)
    except (httpx2.HTTPError, OSError, ValueError) as error:
        return Outcome(False, f"{type(error).__name__}: {error}")
    if 200 <= answer.status_code < 400:
        return Outcome(True)
    return Outcome(False, f"HTTP probe failed with statuscode: {answer.status_code} {answer.text[:_BODY_SHOWN]}")


async def _tcp(target: Target, host: str | None, port: int | str) -> Outcome:
    try:
        _, writer = await asyncio.open_connection(host or target.address, port_number(target.container, port))
    except (OSError, ValueError) as error:
        return Outcome(False, f"dial: {error}")
    writer.close()
    return Outcome(True)


async def attempt(target: Target, probe: Probe) -> Outcome:
    """One try, never longer than the probe's timeoutSeconds (default 1)."""
    timeout = float(probe.timeoutSeconds or 1)
    try:
        async with asyncio.timeout(timeout):
            if probe.httpGet:
                return await http_get(target, probe.httpGet, timeout)
            if probe.tcpSocket:
                return await _tcp(target, probe.tcpSocket.host, probe.tcpSocket.port)
            if probe.exec:
                code, output = await target.run(list(probe.exec.command or []), timeout)
                return Outcome(code == 0, f"command ended with {code}: {output[:_BODY_SHOWN]}")
    except TimeoutError:
        return Outcome(False, f"no answer within {timeout:g} s")
    except RuntimeError as error:  # the container has just ended
        return Outcome(False, str(error))
    return Outcome(False, "this node makes httpGet, tcpSocket and exec probes, and no grpc ones")


async def watch(target: Target, probe: Probe, changed: Callable[[bool, str], Awaitable[None]]) -> None:
    """Probes for ever and calls ``changed`` when the thresholds say that the answer is another one now.

    A failure is told again each time the threshold is reached anew, so that a liveness probe can act on it.
    """
    await asyncio.sleep(probe.initialDelaySeconds or 0)
    needed = {True: probe.successThreshold or 1, False: probe.failureThreshold or 3}
    current: bool | None = None
    row, last = 0, None
    while True:
        outcome = await attempt(target, probe)
        row = row + 1 if outcome.ok == last else 1
        last = outcome.ok
        if row >= needed[outcome.ok] and outcome.ok != current:
            current = outcome.ok
            await changed(outcome.ok, outcome.message)
        await asyncio.sleep(probe.periodSeconds or 10)
