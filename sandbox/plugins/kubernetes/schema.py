"""The package's schema: what programs in YAML and the commands of `pulumi package` ask a plug-in for.

Made from the table of Kubernetes' own types (scheme/), so it has every built-in kind with its fields and their types,
but neither descriptions nor what is required.
"""

from __future__ import annotations

from typing import Any, Final

from sandbox.plugins.kubernetes.scheme import table

Schema = dict[str, Any]

_ANY: Final[Schema] = {"$ref": "pulumi.json#/Any"}
_TEXT: Final[Schema] = {"type": "string"}
_YES_OR_NO: Final[Schema] = {"type": "boolean"}
_META: Final = "meta/v1.ObjectMeta"
_SETTINGS: Final[Schema] = {
    **dict.fromkeys(("kubeconfig", "context", "cluster", "clusterIdentifier", "namespace"), _TEXT),
    **dict.fromkeys(
        (
            "deleteUnreachable",
            "skipUpdateUnreachable",
            "enablePatchForce",
            "upsertExistingObjects",
            "enableConfigMapMutable",
            "enableSecretMutable",
            "strictMode",
        ),
        _YES_OR_NO,
    ),
}
_CHART: Final[Schema] = {
    **dict.fromkeys(("chart", "name", "namespace", "version", "resourcePrefix"), _TEXT),
    **dict.fromkeys(("skipCrds", "skipAwait", "includeHooks"), _YES_OR_NO),
    "repositoryOpts": {"$ref": "#/types/kubernetes:helm.sh/v4:RepositoryOpts"},
    "values": {"type": "object", "additionalProperties": _ANY},
    "valueYamlFiles": {"type": "array", "items": {"$ref": "pulumi.json#/Asset"}},
}


def package(version: str) -> Schema:
    """The schema of the version of the package, as JSON values."""
    modules = _modules()
    types = {
        _token(name, modules): {
            "type": "object",
            "properties": {field: _property(shape, modules) for field, shape in fields.items()},
        }
        for name, fields in table()["types"].items()
    }
    types["kubernetes:helm.sh/v4:RepositoryOpts"] = {"type": "object", "properties": {"repo": _TEXT}}
    resources = {}
    for kind, name in table()["kinds"].items():
        api_version, _, word = kind.rpartition("/")
        fields = {field: _property(shape, modules) for field, shape in table()["types"][name].items()}
        resources[_token(name, modules, word)] = _resource(api_version, word, fields)
    definition = {"metadata": _property(f".{_META}", modules), "spec": _ANY, "status": _ANY}
    resources["kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"] = _resource(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", definition
    )
    resources["kubernetes:helm.sh/v4:Chart"] = {
        "isComponent": True,
        "properties": {"resources": {"type": "array", "items": _ANY}},
        "inputProperties": _CHART,
        "requiredInputs": ["chart"],
    }
    folders = {module: name for name, module in modules.items()}
    return {
        "name": "kubernetes",
        "version": version,
        "meta": {"moduleFormat": "(.*)"},
        "provider": {"properties": _SETTINGS, "inputProperties": _SETTINGS},
        "config": {"variables": _SETTINGS},
        "types": types,
        "resources": resources,
        "language": {
            "nodejs": {"moduleToPackage": folders},
            "python": {"moduleNameOverrides": folders},
        },
    }


def _modules() -> dict[str, str]:
    """The module of tokens for each of Go's packages, as in rbac/v1 -> rbac.authorization.k8s.io/v1."""
    modules = {"meta/v1": "meta/v1"}
    for kind, name in table()["kinds"].items():
        api_version = kind.rpartition("/")[0]
        modules[name.rpartition(".")[0]] = api_version if "/" in api_version else f"core/{api_version}"
    return modules


def _token(name: str, modules: dict[str, str], word: str = "") -> str:
    folder, _, last = name.rpartition(".")
    return f"kubernetes:{modules[folder]}:{word or last}"


def _property(shape: str, modules: dict[str, str]) -> Schema:
    """A shape of the table (scheme/__init__.py) as a type of the schema."""
    head, rest = shape[0], shape[1:]
    if head == "?":
        return _property(rest, modules)
    if head == ".":
        return {"$ref": f"#/types/{_token(rest, modules)}"}
    if head == "[":
        return {"type": "array", "items": _property(rest, modules)}
    if head == "{":
        return {"type": "object", "additionalProperties": _property(rest, modules)}
    word = {"string": "string", "quantity": "string", "bool": "boolean", "int": "integer"}.get(shape)
    return {"type": word} if word else _ANY


def _resource(api_version: str, kind: str, fields: Schema) -> Schema:
    properties = {
        **fields,
        "apiVersion": {"type": "string", "const": api_version},
        "kind": {"type": "string", "const": kind},
    }
    if (api_version, kind) == ("v1", "Secret"):
        properties |= {name: {**fields[name], "secret": True} for name in ("data", "stringData")}
    return {
        "properties": properties,
        "required": ["apiVersion", "kind", "metadata"],
        "inputProperties": {name: one for name, one in properties.items() if name != "status"},
    }
