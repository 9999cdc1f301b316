"""The components as a package for other languages: the host serves a schema with typed fields."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from enum import Enum
from importlib.metadata import distribution, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, is_typeddict

import grpc
import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc
from pulumi_hosted_mesh._generated import inputs
from pulumi_hosted_mesh.assembly import package_schema
from pulumi_hosted_mesh.spec.data_plane import Webhooks
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import Trust
from pydantic.alias_generators import to_camel

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

COMPONENTS = Path(__file__).parents[4] / "components"


def schema() -> dict[str, Any]:
    """The package's schema, asked of the host as the engine asks it."""
    command = [sys.executable, str(COMPONENTS / "__main__.py"), "127.0.0.1:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        try:
            port = int(host.stdout.readline())
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                answer = provider_pb2_grpc.ResourceProviderStub(channel).GetSchema(provider_pb2.GetSchemaRequest())
        finally:
            host.terminate()
    found: dict[str, Any] = json.loads(answer.schema)
    return found


COMPONENTS_OF_THE_PACKAGE = (
    "ApplicationDeployment",
    "DataPlaneAccess",
    "DataPlaneCrds",
    "DnsEdge",
    "ExternalControlPlane",
    "ExternalDNSBridge",
    "HostedMesh",
    "HostedOperators",
    "MeshDeployment",
    "MeshFederation",
    "MeshObservability",
    "MeshRoot",
    "MeshTrust",
    "RemoteDataPlane",
    "SharedGateway",
    "TrafficIntents",
)


@pytest.fixture(scope="module")
def served() -> dict[str, Any]:
    return schema()


def test_the_committed_schema_is_served(served: dict[str, Any]) -> None:
    committed = json.loads(package_schema.FILE.read_text())
    assert {**committed, "version": served["version"]} == served, "run `hosted-mesh schema --write`"
    assert package_schema.FILE.read_text() == package_schema.text_of(json.dumps(served))


def test_a_closed_set_of_words_is_an_enumeration(served: dict[str, Any]) -> None:
    types = served["types"]
    words = {
        (model, name, annotation.__name__): [str(one.value) for one in annotation]
        for model in (Trust, Webhooks, Mesh)
        for name, field in model.model_fields.items()
        if isinstance(annotation := field.annotation, type) and issubclass(annotation, Enum)
    }
    assert {enum for _, _, enum in words} == {
        "AuthorityManagement",
        "CrossNetwork",
        "KeyAlgorithm",
        "FailurePolicy",
        "WebhookManagement",
    }
    for (model, name, enum), values in words.items():
        found = types[f"hosted-mesh:index:{model.__name__}Args"]["properties"][to_camel(name)]
        assert found["$ref"] == f"#/types/hosted-mesh:index:{enum}"
        assert "type" not in found
        assert [one["value"] for one in types[f"hosted-mesh:index:{enum}"]["enum"]] == values
    record_types = types["hosted-mesh:index:DnsProviderArgs"]["properties"]["recordTypes"]
    assert record_types["items"]["$ref"] == "#/types/hosted-mesh:index:RecordType"
    kinds = types["hosted-mesh:index:ExposureKind"]["enum"]
    assert {one["value"] for one in kinds} == {"load-balancer", "external", "gateway"}
    flattened = served["resources"]["hosted-mesh:index:HostedMesh"]["inputProperties"]["crossNetwork"]
    assert flattened["$ref"] == "#/types/hosted-mesh:index:CrossNetwork"


def test_references_of_the_schema_are_there(served: dict[str, Any]) -> None:
    referred = set(re.findall(r'"#/types/([^"]+)"', json.dumps(served)))
    assert len(referred) > 50
    assert referred <= served["types"].keys()


def test_secrets_are_marked(served: dict[str, Any]) -> None:
    marked = {
        (part, token.rpartition(":")[2], name)
        for token, resource in served["resources"].items()
        for part in ("inputProperties", "properties")
        for name, found in resource.get(part, {}).items()
        if found.get("secret")
    }
    assert marked == {
        ("inputProperties", "ExternalControlPlane", "cacerts"),
        ("inputProperties", "HostedMesh", "cacerts"),
        ("inputProperties", "MeshObservability", "cacerts"),
        ("properties", "DataPlaneAccess", "kubeconfig"),
        ("properties", "DnsEdge", "publisherKubeconfig"),
        ("properties", "DnsEdge", "readerKubeconfig"),
        ("properties", "MeshTrust", "privateKey"),
    }


def test_required_arguments_are_required(served: dict[str, Any]) -> None:
    required = {token.rpartition(":")[2]: one.get("requiredInputs", []) for token, one in served["resources"].items()}
    assert required["HostedMesh"] == ["memberships", "name", "revisions"], "one cluster has no control plane elsewhere"
    assert required["MeshDeployment"] == ["clusters", "controlPlane", "name", "template"]
    assert required["ExternalControlPlane"] == ["cluster", "kubeconfigs", "mesh", "rootCertificate"]


def test_the_package_serves_every_component(served: dict[str, Any]) -> None:
    assert (served["name"], served["version"]) == ("hosted-mesh", version("pulumi-hosted-mesh"))
    assert set(served["resources"]) == {f"hosted-mesh:index:{name}" for name in COMPONENTS_OF_THE_PACKAGE}
    assert all(one["isComponent"] for one in served["resources"].values())


def test_pulumi_can_run_the_folder_as_a_plug_in() -> None:
    """`pulumi package add` refuses a folder without this file (DetectPluginPathAt in Pulumi's paths.go). Newer language
    hosts then install the package that is there, and run its `__main__.py`."""
    runtime = {
        "name": "python",
        "options": {"virtualenv": "venv"},
    }  # else pip would change the user's Python
    assert yaml.safe_load((COMPONENTS / "PulumiPlugin.yaml").read_text()) == {"runtime": runtime}
    # What every host installs: the folder's distribution, with its dependencies.
    assert (COMPONENTS / "requirements.txt").read_text().splitlines()[1:] == ["."]
    assert {"build-system", "project"} <= tomllib.loads((COMPONENTS / "pyproject.toml").read_text()).keys()


def test_newer_language_hosts_find_that_it_needs_no_plugin() -> None:
    """They look in the module of the distribution's name (pulumi-language-python, pulumiPluginJSONPathsScript)."""
    module = find_spec(distribution("pulumi-hosted-mesh").metadata["Name"].replace("-", "_"))
    assert module
    (folder,) = module.submodule_search_locations or ()
    assert json.loads(Path(folder, "pulumi-plugin.json").read_text()) == {"resource": False}


def test_a_mesh_has_typed_fields(served: dict[str, Any]) -> None:
    component = served["resources"]["hosted-mesh:index:HostedMesh"]
    assert component["requiredInputs"] == ["memberships", "name", "revisions"]
    revisions = component["inputProperties"]["revisions"]
    assert revisions["items"]["$ref"] == "#/types/hosted-mesh:index:RevisionArgs"
    assert set(component["properties"]) == {
        *(
            "namespace",
            "rootCertificate",
            "endpoints",
            "addresses",
            "apiServerClients",
            "gatewayAddresses",
            "injectionLabels",
        ),
        "webhookManifests",
    }
    types = served["types"]
    membership = types["hosted-mesh:index:MembershipArgs"]["properties"]
    assert membership["cluster"]["$ref"] == "#/types/hosted-mesh:index:DataPlaneCluster"
    # May be outputs, for a program may make the cluster itself.
    assert types["hosted-mesh:index:DataPlaneCluster"]["properties"]["kubeconfig"] == {"type": "string", "secret": True}
    assert "plain" not in types["hosted-mesh:index:AccessArgs"]["properties"]["apiServer"]


@pytest.mark.parametrize("component", ["ExternalControlPlane", "HostedMesh"])
def test_each_file_of_an_authority_may_be_an_output(component: str, served: dict[str, Any]) -> None:
    files = served["resources"][f"hosted-mesh:index:{component}"]["inputProperties"]["cacerts"]
    assert (files["type"], files["additionalProperties"]["type"]) == ("object", "string")
    assert "plain" not in files
    assert "plain" not in files["additionalProperties"]


def test_a_secret_has_no_place_in_what_crosses_to_the_data_plane(served: dict[str, Any]) -> None:
    inputs = served["resources"]["hosted-mesh:index:RemoteDataPlane"]["inputProperties"]
    assert inputs["endpoint"]["$ref"] == "#/types/hosted-mesh:index:EndpointArgs"
    assert not any(name == "mesh" or "kubeconfig" in name for name in inputs)


def test_every_type_of_arguments_is_a_public_name() -> None:
    typed = {
        name for name, value in vars(inputs).items() if is_typeddict(value) and value.__module__ == inputs.__name__
    }
    assert len(typed) > 40
    assert typed <= set(hosted_mesh.__all__)
    for name in hosted_mesh.__all__:
        found = getattr(hosted_mesh, name)
        assert (name if isinstance(found, str) else found.__name__) == name


def test_an_endpoint_file_is_read_and_checked(tmp_path: Path) -> None:
    facts = {
        "mesh": "demo",
        "host": "istiod.demo.example.com",
        "trustDomain": "demo.mesh.local",
        "clusterId": "demo",
        "istioVersion": "1.31.0",
        "rootCertificate": CERTIFICATE,
    }
    file = tmp_path / "endpoint.yaml"
    file.write_text(yaml.safe_dump(facts))
    arguments = hosted_mesh.read_endpoint(file)
    assert (arguments["host"], arguments["root_certificate"]) == (facts["host"], CERTIFICATE)
    made: list[str] = []
    run(lambda: made.append(hosted_mesh.ControlPlaneEndpoint.from_facts(arguments).injection_url))
    assert made == ["https://istiod.demo.example.com:15017/inject/cluster/demo"]
    file.write_text(yaml.safe_dump({**facts, "host": "192.0.2.1"}))
    with pytest.raises(hosted_mesh.InvalidInputError, match="host: is an IP address"):
        hosted_mesh.read_endpoint(file)
