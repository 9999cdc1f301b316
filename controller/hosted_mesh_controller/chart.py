"""The Helm chart: the structure of `manifests` with expressions in place of values, and a schema of its values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import yaml
from pulumi_hosted_mesh import Problem

from hosted_mesh_controller.installation import (
    ABSOLUTE,
    AUTHORITIES,
    DATABASE_FILE,
    LOCAL,
    NAME,
    ONE_AUTHORITIES_FOLDER,
    ONE_FOLDER,
    ONE_TLS_FOLDER,
    OWN_FOLDERS,
    SECRETS,
    SEVERAL,
    Installation,
    Manifest,
    objects,
)
from hosted_mesh_controller.settings import Settings

_PORT: Final = Settings.model_fields["port"].default
_MARK: Final = "@@"  # YAML quotes a scalar that begins so
_CONDITIONS: Final = {
    SEVERAL: "gt (int .Values.replicas) 1",
    DATABASE_FILE: "$settings.databaseFile",
    AUTHORITIES: "$authorities",
    "storageClass": ".Values.storage.className",
}
_FOLDERS: Final = {
    "kubeconfigs": "first $folders",
    "passphrase": "dir $settings.passphraseFile",
    "tls": "dir $settings.tls.key",
    "database": "dir $settings.databaseFile",
    "issuers": "first $authorities",
}


class _Expressions:
    """The values of an installation as expressions of Helm's."""

    image = f"{_MARK}.Values.image | quote{_MARK}"
    namespace = f"{_MARK}.Release.Namespace | quote{_MARK}"
    replicas = f"{_MARK}int .Values.replicas{_MARK}"
    storage = f"{_MARK}.Values.storage.size | quote{_MARK}"
    storage_class = f"{_MARK}.Values.storage.className | quote{_MARK}"
    egress_ports = (
        f"{_MARK}range .Values.egressPorts{_MARK}",
        {"protocol": "TCP", "port": f"{_MARK}int .{_MARK}"},
        f"{_MARK}end{_MARK}",
    )
    text = f"{_MARK}$settings | toPrettyJson | quote{_MARK}"
    data = f"{_MARK}$settings.data | quote{_MARK}"
    pulumi_home = f'{_MARK}printf "%s/pulumi" $settings.data | quote{_MARK}'
    port = f"{_MARK}int ($settings.port | default {_PORT}){_MARK}"

    def __init__(self) -> None:
        self.folders: Mapping[str, Any] = {name: f"{_MARK}{one} | quote{_MARK}" for name, one in _FOLDERS.items()}
        self.secrets: Mapping[str, Any] = {
            name: f"{_MARK}.Values.existingSecrets.{name} | quote{_MARK}" for name in SECRETS
        }
        self._number = 0

    def items(self, condition: str, items: list[Any]) -> list[Any]:
        """As the form's."""
        return [f"{_MARK}if {_CONDITIONS[condition]}{_MARK}", *items, f"{_MARK}end{_MARK}"]

    def fields(self, condition: str, fields: Manifest) -> Manifest:
        """As the form's."""
        self._number += 1  # a mapping has each key once
        begin = f"{_MARK}if {_CONDITIONS[condition]}#{self._number}{_MARK}"
        return {begin: None, **fields, f"{_MARK}end#{self._number}{_MARK}": None}

    def either(self, condition: str, yes: Any, no: Any) -> Any:
        """As the form's."""
        chosen = " ".join(f"({one.strip(_MARK)})" if one.startswith(_MARK) else json.dumps(one) for one in (yes, no))
        return f"{_MARK}ternary {chosen} ({_CONDITIONS[condition]}){_MARK}"


def chart() -> dict[str, str]:
    """The chart's files, by path."""
    facts = {
        "apiVersion": "v2",
        "name": NAME,
        "description": "A service that orders meshes by Pulumi",
        "type": "application",
        "version": version(NAME),
        "appVersion": version(NAME),
        "kubeVersion": ">=1.25.0-0",
    }
    return {
        "Chart.yaml": yaml.safe_dump(facts, sort_keys=False),
        "values.yaml": _values(),
        "values.schema.json": json.dumps(_schema(), indent=2) + "\n",
        "templates/controller.yaml": _template(),
    }


class _Dumper(yaml.SafeDumper):
    """Repeats equal parts, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Whether a value that comes again is written again."""
        return data is not self


def _template() -> str:
    made: list[str] = []
    parts: list[Any] = [*objects(_Expressions())]  # objects, and the text of conditions around them
    for one in parts:
        whole = f"---\n{yaml.dump(one, Dumper=_Dumper, sort_keys=False, width=10**6)}"
        made.append(f"'{one}'\n" if isinstance(one, str) else whole)
    return _PROLOGUE + "".join(_expression(line) for line in "".join(made).splitlines(keepends=True))


def _expression(line: str) -> str:
    """A line with its marks replaced. A line that is a condition stands for itself."""
    control = re.fullmatch(rf"\s*(- )?'{_MARK}((?:if|range) .*?|end)(#\d+)?{_MARK}'(: null)?\n", line)
    if control:
        return "{{- " + control[2] + " }}\n"
    return re.sub(rf"'{_MARK}(.*?){_MARK}'", lambda found: "{{ " + found[1].replace("''", "'") + " }}", line)


def _fail(condition: str, problem: Problem) -> str:
    text = json.dumps(f"settings: {problem.field} {problem.rule}. {problem.fix}")
    return f"{{{{- if {condition} }}}}{{{{ fail {text} }}}}{{{{ end }}}}\n"


_PROLOGUE: Final = (
    "{{- $settings := .Values.settings }}\n"
    "{{- $folders := list }}\n"
    "{{- range $settings.clusters }}{{ $folders = append $folders (dir .kubeconfig) }}"
    "{{ with .watch }}{{ $folders = append $folders (dir .kubeconfig) }}{{ end }}{{ end }}\n"
    "{{- $folders = uniq $folders }}\n"
    "{{- $authorities := list }}\n"
    "{{- range $settings.issuers }}{{ with .certificateAuthority }}{{ $authorities = append $authorities (dir .) }}"
    "{{ end }}{{ end }}\n"
    "{{- $authorities = uniq $authorities }}\n"
    + _fail("ne (len $folders) 1", ONE_FOLDER)
    + _fail("ne (dir $settings.tls.key) (dir $settings.tls.certificate)", ONE_TLS_FOLDER)
    + _fail("gt (len $authorities) 1", ONE_AUTHORITIES_FOLDER)
    + "{{- $mounts := list $settings.data (first $folders) (dir $settings.passphraseFile) (dir $settings.tls.key) }}\n"
    "{{- with $settings.databaseFile }}{{ $mounts = append $mounts (dir .) }}{{ end }}\n"
    "{{- with $authorities }}{{ $mounts = append $mounts (first .) }}{{ end }}\n"
    "{{- range $mounts }}\n"
    + _fail("not (isAbs .)", ABSOLUTE)
    + "{{- end }}\n"
    + _fail("ne (len $mounts) (len (uniq $mounts))", OWN_FOLDERS)
)


def _defaults() -> dict[str, tuple[Any, str]]:
    """The chart's values, and a line on each."""
    plain = Installation("")
    return {
        "image": ("", "Image with the controller, Pulumi, its plug-ins and the program. Required."),
        "replicas": (plain.replicas, "Number of executors. More than 1 require PostgreSQL and a ReadWriteMany volume."),
        "existingSecrets": (
            SECRETS,
            "Names of your Secrets. database: used with settings.databaseFile. issuers: with certificateAuthority.",
        ),
        "storage": ({"size": plain.storage, "className": ""}, "The volume of settings.data."),
        "egressPorts": (list(plain.egress_ports), "Ports of API servers, the database, and Pulumi's backend."),
        "settings": ({}, "The controller's settings, as in its settings file. Required."),
    }


def _values() -> str:
    parts = [
        f"# {line}\n{yaml.safe_dump({name: value}, sort_keys=False)}" for name, (value, line) in _defaults().items()
    ]
    return "\n".join(parts)


def _schema() -> Manifest:
    settings = Settings.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = settings.pop("$defs")
    settings["properties"]["host"] |= {"not": {"enum": list(LOCAL)}}
    settings["properties"]["clusters"]["minProperties"] = 1
    # Folders in a folder, which a Secret has not.
    del settings["properties"]["dnsCredentials"]
    settings["required"] = sorted({*settings["required"], "host", "tls", "clusters"})
    settings["properties"]["tls"] = {"$ref": "#/$defs/Tls"}
    text, size = {"type": "string", "minLength": 1}, {"type": "string", "pattern": "^[0-9]+(Ki|Mi|Gi|Ti|Pi)?$"}
    port = {"type": "integer", "minimum": 1, "maximum": 65535}
    database = [{"properties": {name: text}, "required": [name]} for name in ("database", "databaseFile")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["image", "replicas", "existingSecrets", "storage", "egressPorts", "settings"],
        "properties": {
            "image": text,
            "replicas": {"type": "integer", "minimum": 1, "maximum": 100},
            "existingSecrets": {
                "type": "object",
                "additionalProperties": False,
                "required": list(SECRETS),
                "properties": dict.fromkeys(SECRETS, text),
            },
            "storage": {
                "type": "object",
                "additionalProperties": False,
                "required": ["size"],
                "properties": {"size": size, "className": {"type": "string"}},
            },
            "egressPorts": {"type": "array", "items": port, "minItems": 1},
            "settings": settings,
            "global": {"type": "object"},
        },
        "if": {"properties": {"replicas": {"minimum": 2}}},
        "then": {"properties": {"settings": {"anyOf": database}}},
        "$defs": definitions,
    }
