"""Kubeconfigs: reads one context of a file or text, and writes the kubeconfigs for istiod and others."""

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

from pulumi_hosted_mesh import canonical, yaml_text
from pulumi_hosted_mesh.clusters.kubeconfig_files import path_of, why_unreadable
from pulumi_hosted_mesh.clusters.referenced_files import with_content
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.load import LONGEST


@dataclass(frozen=True)
class Kubeconfig:
    """One context of a kubeconfig.

    server: the API server's address, `https://HOST:PORT`; a plain fact.
    certificate_authority: PEM that verifies it, public; None if the system's authorities do.
    text: a kubeconfig of this context alone, as JSON. A secret: it holds the credential.
    identity: the cluster's identity in the document; None without one.
    """

    context: str
    server: str
    certificate_authority: str | None
    text: str = field(repr=False)
    identity: str | None = None

    @property
    def identifier(self) -> str:
        """The cluster's name in the stacks' state. Another name is another cluster: all objects are replaced.

        The document's `identity`; else a hash of the authority, which stays when the address changes, but not when the
        authority does.
        """
        if self.identity:
            return self.identity
        identifying = self.certificate_authority or self.server
        return hashlib.sha256(identifying.strip().encode()).hexdigest()[:16]


@dataclass(frozen=True)
class KubeconfigRequest:
    """The context to take from a kubeconfig, the requirements on it, and the names for errors.

    context: the context to use; None for the current one.
    server: the context's expected API server, in any spelling; None for any.
    identity: the name of the cluster.
    program: the `exec` of its user, if the document has one. The file then has no credential of its own.
    field: the kubeconfig's field, such as `dataPlane.cluster.kubeconfig` or `--kubeconfig`. The fields of context
    and server are beside it.
    source: the document or the command line that has the field.
    """

    context: str | None = None
    server: str | None = None
    identity: str | None = None
    field: str = "kubeconfig"
    source: str = "the kubeconfig"
    program: Mapping[str, Any] | None = None

    def refuse(self, part: str, rule: str, fix: str) -> InvalidInputError:
        """The error about the kubeconfig itself, or about the field of that name beside it."""
        beside = self.field.rpartition(".")
        where = self.field if part == "kubeconfig" else f"{beside[0]}{beside[1]}{part}"
        if self.field.startswith("--"):  # --control-plane-kubeconfig has --control-plane-context beside it
            where = self.field.replace("kubeconfig", part)
        return InvalidInputError([Problem(where, rule, fix)], self.source)


def read(reference: ClusterReference, field: str, source: str) -> Kubeconfig:
    """The context in a document's cluster reference.

    field: the reference's field. source: the document. Both for errors.
    Raises: InvalidInputError as `from_file`.
    """
    program = reference.exec.entry if reference.exec else None
    request = KubeconfigRequest(
        reference.context, reference.server, reference.identity, f"{field}.kubeconfig", source, program
    )
    return from_file(reference.kubeconfig, request)


def from_file(written: str, request: KubeconfigRequest) -> Kubeconfig:
    """The requested context of a file; `~` and environment variables in its path are expanded.

    Raises: InvalidInputError if the file cannot be read, is no kubeconfig, lacks the context, or has another server or
    one without https.
    """
    path = path_of(written)
    return _chosen(_parsed_file(path, written, request), request, path.parent)


def from_content(content: object, request: KubeconfigRequest) -> Kubeconfig:
    """The requested context of a kubeconfig, given as text (YAML or JSON) or as a mapping.

    Its references to files must be absolute paths.
    Raises: InvalidInputError as `from_file`; never with the content in its message.
    """
    return _chosen(parse(content, request) if isinstance(content, str) else content, request, None)


def contexts(written: str) -> list[str]:
    """The names of a file's contexts, in its order. Raises: InvalidInputError as `from_file`."""
    request = KubeconfigRequest(source=written, field="--kubeconfig")
    parsed = _parsed_file(path_of(written), written, request)
    return [str(one["name"]) for one in _entries(parsed, "contexts") if "name" in one]


def _parsed_file(path: Path, written: str, request: KubeconfigRequest) -> object:
    """The content of a kubeconfig file. written: the path before its expansion, for errors."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise request.refuse("kubeconfig", *why_unreadable(written, error)) from None
    except UnicodeDecodeError:
        rule, fix = "is not UTF-8 text", "Save it as UTF-8, or give the path of a kubeconfig file"
        raise request.refuse("kubeconfig", rule, fix) from None
    except ValueError:
        raise request.refuse("kubeconfig", "is a path with an invalid character", "Correct the path") from None
    return parse(text, request)


def parse(text: str, request: KubeconfigRequest) -> object:
    """The content of YAML or JSON text. Raises: InvalidInputError, never with the text in its message."""
    if len(text) > LONGEST:
        rule = f"is longer than {LONGEST // 2**20} MiB, too long for a kubeconfig"
        raise request.refuse("kubeconfig", rule, "Give the path of a kubeconfig file")
    try:
        parsed: object = yaml_text.load(text)
    except yaml_text.UNPARSABLE as error:
        mark = getattr(error, "problem_mark", None)
        rule, fix = "is not YAML", "Give the content of a kubeconfig, or the path of its file"
        if isinstance(error, yaml.constructor.ConstructorError):
            rule, fix = "has an unknown tag or kind of key", "Remove it, and write keys as text"
        raise request.refuse("kubeconfig", f"{rule}{f' in line {mark.line + 1}' if mark else ''}", fix) from None
    return parsed


def _chosen(parsed: object, request: KubeconfigRequest, directory: Path | None) -> Kubeconfig:
    """The requested context. directory: the file's, for its relative paths; None without a file."""
    if not isinstance(parsed, Mapping) or not isinstance(parsed.get("clusters"), list):
        fix = "Give another file" if directory else "Give the content of a kubeconfig, or its path in kubeconfig_file"
        raise request.refuse("kubeconfig", "is not a kubeconfig: it has no list of clusters", fix)
    name = request.context or str(parsed.get("current-context") or "")
    if not name:
        raise request.refuse("context", "is missing, and the kubeconfig has no current context", "Name a context")
    context = _entry(parsed, "contexts", "context", name)
    cluster = _entry(parsed, "clusters", "cluster", str((context or {}).get("cluster", "")))
    user = _entry(parsed, "users", "user", str((context or {}).get("user", "")))
    if context is None:
        rule = f"there is no context {name!r} in the kubeconfig"
        raise request.refuse("context", rule, "Choose one from `kubectl config get-contexts`")
    user = user if request.program is None else _user_by_program(user, request)
    if cluster is None or user is None or not isinstance(cluster.get("server"), str):
        raise request.refuse("kubeconfig", f"context {name!r} lacks its cluster, server or user", "Repair the file")
    if "auth-provider" in user:
        rule = f"context {name!r} has an auth-provider, which Kubernetes no longer supports"
        raise request.refuse("kubeconfig", rule, "Make it again with your cloud's command line, which writes `exec`")

    server = str(cluster["server"]).rstrip("/")
    if not canonical.is_https(server):
        rule = f"context {name!r} has a server that is not https://HOST[:PORT], so its credential is not protected"
        raise request.refuse("kubeconfig", rule, "Give the API server's https address")
    if request.server is not None:
        require_server(server, request)
    try:
        cluster, user = with_content(cluster, directory), with_content(user, directory)
        authority = authority_of(cluster)
    except RuleBrokenError as broken:
        raise request.refuse("kubeconfig", str(broken), broken.fix) from None
    except ValueError:
        rule = f"context {name!r} has certificate-authority-data that is not base64 of PEM"
        raise request.refuse("kubeconfig", rule, "Repair the file") from None
    text = minimal(name, cluster, user, context.get("namespace"))
    return Kubeconfig(name, server, authority, text, request.identity)


def _user_by_program(user: Mapping[str, Any] | None, request: KubeconfigRequest) -> dict[str, Any]:
    """A user with the document's program. Raises: InvalidInputError for a file with another credential or program."""
    if present := sorted(str(key) for key, value in (user or {}).items() if value):
        rule = f"is set, but the kubeconfig's user has {', '.join(present)}"
        raise request.refuse("exec", rule, "Remove the user from the file: only the document's program runs")
    return {"exec": dict(request.program or {})}


def require_server(server: str, request: KubeconfigRequest) -> None:
    """Raises InvalidInputError unless the address is the requested one."""
    if canonical.server(server) != canonical.server(str(request.server)):
        rule = f"context {request.context!r}" if request.context else "the current context"
        raise request.refuse("server", f"{rule} has another API server", "Correct the context or the server")


def minimal(name: str, cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str | None = None) -> str:
    """A kubeconfig of one context, as JSON with sorted keys: the same input gives the same text."""
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


def for_account(
    cluster_name: str, server: str, certificate_authority: str, token: str, way: Mapping[str, str] | None = None
) -> str:
    """The control plane's kubeconfig of a data plane, with a ServiceAccount's token as the only credential.

    way: more fields of the cluster, `proxy-url` and `tls-server-name`.
    """
    authority = base64.b64encode(certificate_authority.encode()).decode()
    cluster = {"server": server, "certificate-authority-data": authority, **(way or {})}
    return minimal(cluster_name, cluster, {"token": token})


def _entry(kubeconfig: Mapping[str, Any], kind: str, key: str, name: str) -> dict[str, Any] | None:
    for entry in _entries(kubeconfig, kind):
        if str(entry.get("name")) == name and isinstance(entry.get(key), Mapping):
            return dict(entry[key])
    return None


def _entries(kubeconfig: object, kind: str) -> list[Mapping[str, Any]]:
    """The entries of a kubeconfig's list, such as `contexts`; none without such a list."""
    found = kubeconfig.get(kind) if isinstance(kubeconfig, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def authority_of(cluster: Mapping[str, Any]) -> str | None:
    """A cluster's `certificate-authority-data` as PEM; None without it. Raises: ValueError if it is not base64."""
    data = cluster.get("certificate-authority-data")
    try:
        # Like Go, which accepts base64 in several lines.
        return base64.b64decode("".join(str(data).split()), validate=True).decode() if data else None
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("not base64") from error
