"""Kubeconfigs: reading one context out of a file, and writing the one that istiod reads the data plane with."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.cluster import ClusterReference

# As os.path.expandvars finds them.
VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)


@dataclass(frozen=True)
class Kubeconfig:
    """One context of a kubeconfig file.

    server: the API server's address, `https://HOST:PORT`; a plain fact.
    certificate_authority: PEM that verifies it, public; None if the system's authorities do.
    text: a kubeconfig of this context alone, as JSON. A secret: it holds the credential.
    identity: what the document calls the cluster; None if it does not.
    """

    context: str
    server: str
    certificate_authority: str | None
    text: str = field(repr=False)
    identity: str | None = None

    @property
    def identifier(self) -> str:
        """What the cluster is in the stacks' state, where another one is another cluster: everything is replaced.

        The document's `identity`; else a hash of the authority, which survives a change of address but no rotation.
        """
        if self.identity:
            return self.identity
        known_by = self.certificate_authority or self.server
        return hashlib.sha256(known_by.strip().encode()).hexdigest()[:16]


def read(reference: ClusterReference, field: str) -> Kubeconfig:
    """The context that a document's cluster reference names.

    field: where the reference stands in the document, for errors.
    Raises: InvalidInputError if the file cannot be read, is no kubeconfig, lacks the context, or names another server
    or one without https.
    """

    def refuse(part: str, rule: str, fix: str) -> InvalidInputError:
        return InvalidInputError([Problem(f"{field}.{part}", rule, fix)])

    path = Path(os.path.expandvars(reference.kubeconfig)).expanduser()
    try:
        parsed = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise refuse("kubeconfig", *_why_unreadable(reference.kubeconfig, error)) from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise refuse("kubeconfig", "is not YAML", "Give the path of a kubeconfig file") from None
    if not isinstance(parsed, Mapping) or not isinstance(parsed.get("clusters"), list):
        raise refuse("kubeconfig", "is not a kubeconfig: it has no list of clusters", "Give another file")

    name = reference.context or str(parsed.get("current-context") or "")
    if not name:
        raise refuse("context", "is not given, and the file has no current context", "Name a context")
    context = _entry(parsed, "contexts", "context", name)
    cluster = _entry(parsed, "clusters", "cluster", str((context or {}).get("cluster", "")))
    user = _entry(parsed, "users", "user", str((context or {}).get("user", "")))
    if context is None:
        raise refuse("context", f"there is no context {name!r} in the file", "`kubectl config get-contexts` lists them")
    if cluster is None or user is None or not isinstance(cluster.get("server"), str):
        raise refuse("kubeconfig", f"context {name!r} lacks its cluster, server or user", "Repair the file")

    server = str(cluster["server"]).rstrip("/")
    if not _is_https(server):
        rule = f"context {name!r} has a server that is not https://HOST[:PORT]: others could read its credential"
        raise refuse("kubeconfig", rule, "Give the API server's https address")
    if reference.server and server != reference.server:
        raise refuse("server", f"context {name!r} points at another API server", "Correct the context or the server")
    try:
        cluster, user = _with_content(cluster, path.parent), _with_content(user, path.parent)
        authority = _decoded(cluster.get("certificate-authority-data"))
    except (OSError, ValueError):
        raise refuse("kubeconfig", "refers to a certificate that cannot be read", "Repair the file") from None
    text = minimal(name, cluster, user, context.get("namespace"))
    return Kubeconfig(name, server, authority, text, reference.identity)


def minimal(name: str, cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str | None = None) -> str:
    """A kubeconfig of one context, as JSON with sorted keys, so that the same input gives the same text."""
    context = {"cluster": name, "user": name} | ({"namespace": namespace} if namespace else {})
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": dict(cluster)}],
        "users": [{"name": name, "user": dict(user)}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    return json.dumps(content, sort_keys=True)


def for_istiod(cluster_name: str, server: str, certificate_authority: str, token: str) -> str:
    """The kubeconfig by which istiod reads the data plane: a ServiceAccount's token and nothing else."""
    authority = base64.b64encode(certificate_authority.encode()).decode()
    return minimal(cluster_name, {"server": server, "certificate-authority-data": authority}, {"token": token})


def _why_unreadable(written: str, error: OSError) -> tuple[str, str]:
    """What is wrong with a path as the document has it, and the fix."""
    for variable in VARIABLE.finditer(written):
        name = variable.group(1) or variable.group(2)
        if not os.environ.get(name):
            rule = f"environment variable {name} is not set"
            return rule, f"Set it to the path of a kubeconfig, or write the path in place of {variable.group()}"
    if os.pathsep in os.path.expandvars(written):
        rule = f"{written} lists several files, but only one is read"
        return rule, "Give one of them, or merge them: (umask 077; kubectl config view --raw --flatten > FILE)"
    return f"cannot be read ({error.strerror})", "Check the path and the file's mode"


def _is_https(server: str) -> bool:
    try:
        url = urlsplit(server)
        return url.scheme == "https" and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _entry(kubeconfig: Mapping[str, Any], kind: str, key: str, name: str) -> dict[str, Any] | None:
    for entry in kubeconfig.get(kind) or []:
        if isinstance(entry, Mapping) and entry.get("name") == name and isinstance(entry.get(key), Mapping):
            return dict(entry[key])
    return None


def _with_content(entry: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The entry with files replaced by their content: what leaves here must mean the same in another directory."""
    result = dict(entry)
    for key in ("certificate-authority", "client-certificate", "client-key"):
        if path := result.pop(key, None):
            result.setdefault(f"{key}-data", base64.b64encode((directory / path).read_bytes()).decode())
    if path := result.pop("tokenFile", None):
        result.setdefault("token", (directory / path).read_text(encoding="utf-8").strip())
    plugin = result.get("exec")
    if isinstance(plugin, Mapping) and "/" in str(plugin.get("command")):
        result["exec"] = {**plugin, "command": str(directory.absolute() / str(plugin["command"]))}
    return result


def _decoded(data: object) -> str | None:
    try:
        return base64.b64decode(str(data), validate=True).decode() if data else None
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("not base64") from error
