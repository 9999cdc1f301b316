"""Fetches a credential by a kubeconfig's program (`users[].user.exec`, as of EKS, GKE and AKS), as kubectl does.

https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
# Some programs open a browser and wait for a login.
TIMEOUT_SECONDS = 120
# client-go's name of the extension that a cluster's entry may have for its program.
EXTENSION = "client.authentication.k8s.io/exec"
OF_THE_CLUSTER = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
)
LOG_IN = "Run `kubectl get namespaces` with this kubeconfig, and follow its instructions to log in"


def fetched(config: Kubeconfig, field: str, source: str) -> Kubeconfig:
    """The kubeconfig with the credential of its program in place of the program; unchanged without one.

    field: the field or option with the kubeconfig's path. source: the document or command line. Both for errors.
    Raises: InvalidInputError if the program does not exist, fails or prints no credential; never with its output.
    """
    content = json.loads(config.text)
    user = content["users"][0]["user"]
    if "exec" not in user or "token" in user or "client-certificate-data" in user:
        return config
    plugin = user.pop("exec")
    try:
        user |= _credential(_run(plugin, content["clusters"][0]["cluster"]), plugin)
    except RuleBrokenError as broken:
        raise InvalidInputError([Problem(field, f"users[].user.exec {broken}", broken.fix)], source) from None
    return dataclasses.replace(config, text=json.dumps(content, sort_keys=True))


def environment(plugin: Mapping[str, Any], cluster: Mapping[str, Any], *, interactive: bool) -> dict[str, str]:
    """The program's environment: this process's, the kubeconfig's additions, and client-go's KUBERNETES_EXEC_INFO."""
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = {key: cluster[key] for key in OF_THE_CLUSTER if key in cluster}
        extensions = cluster.get("extensions")
        for extension in extensions if isinstance(extensions, list) else []:
            if isinstance(extension, Mapping) and extension.get("name") == EXTENSION:
                spec["cluster"]["config"] = extension.get("extension")
    info = {"apiVersion": plugin["apiVersion"], "kind": "ExecCredential", "spec": spec}
    added = {str(one["name"]): str(one.get("value", "")) for one in plugin.get("env") or []}
    return {**os.environ, **added, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _run(plugin: Any, cluster: Mapping[str, Any]) -> bytes:
    """The program's standard output, a secret. Its messages go to standard error."""
    if not _fits(plugin):
        rule = "must be a mapping with a command, optionally a list of args, and env, a list of names and values"
        raise RuleBrokenError(rule, "Make the kubeconfig again")
    if plugin.get("apiVersion") not in VERSIONS:
        raise RuleBrokenError(f"must have apiVersion {' or '.join(VERSIONS)}", "Make the kubeconfig again")
    command, mode = plugin["command"], plugin.get("interactiveMode")
    interactive = mode != "Never" and sys.stdin.isatty()
    if mode == "Always" and not interactive:
        raise RuleBrokenError(f"names {command}, which requires input", "Run this in a terminal")
    try:
        return subprocess.run(
            [command, *map(str, plugin.get("args") or [])],
            env=environment(plugin, cluster, interactive=interactive),
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=TIMEOUT_SECONDS,
            check=True,
        ).stdout
    except OSError as error:
        hint = str(plugin.get("installHint") or "Install it, or put it on PATH").strip()
        raise RuleBrokenError(f"names {command}, which cannot be run ({error.strerror})", hint) from None
    except ValueError:  # a NUL, or = in a variable's name
        rule = f"names {command}, but a part of command, args or env has a character that no program accepts"
        raise RuleBrokenError(rule, "Correct it") from None
    except subprocess.CalledProcessError as error:
        raise RuleBrokenError(f"names {command}, which failed with exit code {error.returncode}", LOG_IN) from None
    except subprocess.TimeoutExpired:
        raise RuleBrokenError(f"names {command}, which did not end within {TIMEOUT_SECONDS} s", LOG_IN) from None


def _fits(plugin: Any) -> bool:
    if not isinstance(plugin, Mapping) or not isinstance(plugin.get("command"), str):
        return False
    arguments, variables = plugin.get("args") or [], plugin.get("env") or []
    if not isinstance(arguments, list) or not isinstance(variables, list):
        return False
    return all(isinstance(one, Mapping) and "name" in one for one in variables)


def _credential(printed: bytes, plugin: Mapping[str, Any]) -> dict[str, str]:
    """The credential for a kubeconfig's user: certificate and key are PEM in an ExecCredential, and base64 here."""
    try:
        answer = json.loads(printed)
        fits = (answer["kind"], answer["apiVersion"]) == ("ExecCredential", plugin["apiVersion"])
        status = dict(answer["status"]) if fits else {}
    except (ValueError, KeyError, TypeError):
        status = {}
    token, pair = status.get("token"), [status.get("clientCertificateData"), status.get("clientKeyData")]
    if not (token or all(pair)) or any(pair) != all(pair):
        rule = f"names {plugin['command']}, which printed no ExecCredential of {plugin['apiVersion']} with a credential"
        raise RuleBrokenError(rule, LOG_IN)
    encoded = [base64.b64encode(str(part).encode()).decode() for part in pair if part]
    names = ("client-certificate-data", "client-key-data")
    return dict(zip(names, encoded, strict=False)) | ({"token": str(token)} if token else {})
