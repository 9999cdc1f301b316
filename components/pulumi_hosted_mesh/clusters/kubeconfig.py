"""Kubeconfigs: one context is taken out of a file or a text, and those that istiod and others get are written."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.clusters.kubeconfig_files import path_of, why_unreadable
from pulumi_hosted_mesh.clusters.referenced_files import with_content
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.load import LONGEST, UNPARSABLE

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Kubeconfig:
    """One context of a kubeconfig.

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


@dataclass(frozen=True)
class Asked:
    """What is asked of a kubeconfig, and how errors name it.

    context: the context to use; None for the current one.
    server: the API server that it must point at, in any spelling; None if any will do.
    identity: what the cluster is called.
    field: where the kubeconfig stands, such as `dataPlane.cluster.kubeconfig` or `--kubeconfig`; the other two stand
    beside it.
    source: what the field belongs to.
    """

    context: str | None = None
    server: str | None = None
    identity: str | None = None
    field: str = "kubeconfig"
    source: str = "what was given"

    def refuse(self, part: str, rule: str, fix: str) -> InvalidInputError:
        """The error about the kubeconfig itself, or about the field of that name beside it."""
        beside = self.field.rpartition(".")
        where = self.field if part == "kubeconfig" else f"{beside[0]}{beside[1]}{part}"
        if self.field.startswith("--"):  # --control-plane-kubeconfig has --control-plane-context beside it
            where = self.field.replace("kubeconfig", part)
        return InvalidInputError([Problem(where, rule, fix)], self.source)


def read(reference: ClusterReference, field: str, source: str) -> Kubeconfig:
    """The context that a document's cluster reference names.

    field: where the reference stands in the document, which is `source`; both for errors.
    Raises: InvalidInputError as `from_file`.
    """
    asked = Asked(reference.context, reference.server, reference.identity, f"{field}.kubeconfig", source)
    return from_file(reference.kubeconfig, asked)


def from_file(written: str, asked: Asked) -> Kubeconfig:
    """The context that is asked for, of a file; `~` and environment variables in its path are expanded.

    Raises: InvalidInputError if the file cannot be read, is no kubeconfig, lacks the context, or names another server
    or one without https.
    """
    path = path_of(written)
    return _chosen(_parsed_file(path, written, asked), asked, path.parent)


def from_content(content: object, asked: Asked) -> Kubeconfig:
    """The context that is asked for, of a kubeconfig as text (YAML or JSON) or as the mapping that it parses to.

    Files that it refers to must be named by their whole path.
    Raises: InvalidInputError as `from_file`; never with the content in its message.
    """
    return _chosen(parse(content, asked) if isinstance(content, str) else content, asked, None)


def contexts(written: str) -> list[str]:
    """The names of a file's contexts, in its order. Raises: InvalidInputError as `from_file`."""
    asked = Asked(source=written, field="--kubeconfig")
    parsed = _parsed_file(path_of(written), written, asked)
    return [str(one["name"]) for one in _entries(parsed, "contexts") if "name" in one]


def _parsed_file(path: Path, written: str, asked: Asked) -> object:
    """written: the path as somebody wrote it, for errors."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise asked.refuse("kubeconfig", *why_unreadable(written, error)) from None
    except UnicodeDecodeError:
        rule, fix = "is not UTF-8 text", "Save it as UTF-8, or give the path of a kubeconfig file"
        raise asked.refuse("kubeconfig", rule, fix) from None
    except ValueError:
        raise asked.refuse("kubeconfig", "is a path with a sign that none has", "Correct the path") from None
    return parse(text, asked)


def parse(text: str, asked: Asked) -> object:
    """What a text in YAML or JSON holds. Raises: InvalidInputError, never with the text in its message."""
    if len(text) > LONGEST:
        rule = f"is longer than {LONGEST // 2**20} MiB, which no kubeconfig is"
        raise asked.refuse("kubeconfig", rule, "Give the path of a kubeconfig file")
    try:
        parsed: object = yaml.load(text, Loader=LOADER)  # noqa: S506 (a safe loader)
    except UNPARSABLE as error:
        mark = getattr(error, "problem_mark", None)
        rule = f"is not YAML{f' in line {mark.line + 1}' if mark else ''}"
        raise asked.refuse("kubeconfig", rule, "Give a kubeconfig, or a file of one by its path") from None
    return parsed


def _chosen(parsed: object, asked: Asked, directory: Path | None) -> Kubeconfig:
    """The one context. directory: of the file, which its relative paths start at; None if there is no file."""
    if not isinstance(parsed, Mapping) or not isinstance(parsed.get("clusters"), list):
        fix = "Give another file" if directory else "Give the content of a kubeconfig; a path goes into kubeconfig_file"
        raise asked.refuse("kubeconfig", "is not a kubeconfig: it has no list of clusters", fix)
    name = asked.context or str(parsed.get("current-context") or "")
    if not name:
        raise asked.refuse("context", "is not given, and the kubeconfig has no current context", "Name a context")
    context = _entry(parsed, "contexts", "context", name)
    cluster = _entry(parsed, "clusters", "cluster", str((context or {}).get("cluster", "")))
    user = _entry(parsed, "users", "user", str((context or {}).get("user", "")))
    if context is None:
        rule = f"there is no context {name!r} in the kubeconfig"
        raise asked.refuse("context", rule, "`kubectl config get-contexts` lists them")
    if cluster is None or user is None or not isinstance(cluster.get("server"), str):
        raise asked.refuse("kubeconfig", f"context {name!r} lacks its cluster, server or user", "Repair the file")
    if "auth-provider" in user:
        rule = f"context {name!r} logs in by an auth-provider, which Kubernetes has no more"
        raise asked.refuse("kubeconfig", rule, "Make it anew with your cloud's command line, which writes `exec`")

    server = str(cluster["server"]).rstrip("/")
    if not address.is_https(server):
        rule = f"context {name!r} has a server that is not https://HOST[:PORT]: others could read its credential"
        raise asked.refuse("kubeconfig", rule, "Give the API server's https address")
    if asked.server is not None:
        require_server(server, asked)
    try:
        cluster, user = with_content(cluster, directory), with_content(user, directory)
        authority = authority_of(cluster)
    except RuleBrokenError as broken:
        raise asked.refuse("kubeconfig", str(broken), broken.fix) from None
    except ValueError:
        rule = f"context {name!r} has certificate-authority-data that is not base64 of PEM, so it cannot be read"
        raise asked.refuse("kubeconfig", rule, "Repair the file") from None
    text = minimal(name, cluster, user, context.get("namespace"))
    return Kubeconfig(name, server, authority, text, asked.identity)


def require_server(server: str, asked: Asked) -> None:
    """Raises InvalidInputError unless the address is the one that is asked for."""
    if address.normal(server) != address.normal(str(asked.server)):
        rule = f"context {asked.context!r}" if asked.context else "the current context"
        raise asked.refuse("server", f"{rule} points at another API server", "Correct the context or the server")


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


def for_account(cluster_name: str, server: str, certificate_authority: str, token: str) -> str:
    """The kubeconfig by which the control plane reads a data plane: a ServiceAccount's token and nothing else."""
    authority = base64.b64encode(certificate_authority.encode()).decode()
    return minimal(cluster_name, {"server": server, "certificate-authority-data": authority}, {"token": token})


def _entry(kubeconfig: Mapping[str, Any], kind: str, key: str, name: str) -> dict[str, Any] | None:
    for entry in _entries(kubeconfig, kind):
        if entry.get("name") == name and isinstance(entry.get(key), Mapping):
            return dict(entry[key])
    return None


def _entries(kubeconfig: object, kind: str) -> list[Mapping[str, Any]]:
    """The entries of a kubeconfig's list, `contexts` for one; none if it has no such list."""
    found = kubeconfig.get(kind) if isinstance(kubeconfig, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def authority_of(cluster: Mapping[str, Any]) -> str | None:
    """A cluster's `certificate-authority-data` as PEM; None without it. Raises: ValueError if it is not base64."""
    data = cluster.get("certificate-authority-data")
    try:
        # As Go does, which takes base64 in several lines.
        return base64.b64decode("".join(str(data).split()), validate=True).decode() if data else None
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("not base64") from error
