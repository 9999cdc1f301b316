"""`hosted-mesh-controller manifests`: a Pod without rights, and settings that do not fit into one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.cli.service import app
from hosted_mesh_controller.installation import Installation, manifests
from hosted_mesh_controller.settings import Settings
from pulumi_hosted_mesh import InvalidInputError
from typer.testing import CliRunner

Config = dict[str, Any]
SECRETS = "/run/hosted-mesh"
SETTINGS: Config = {
    "data": "/var/lib/hosted-mesh-controller",
    "program": "/srv/hosted-mesh",
    "passphraseFile": f"{SECRETS}/passphrase/passphrase",
    "clusters": {"hub": {"kubeconfig": f"{SECRETS}/kubeconfigs/hub.yaml", "side": "control-plane", "tenants": ["*"]}},
    "tenants": {"acme": {}},
    "host": "0.0.0.0",
    "tls": {"certificate": f"{SECRETS}/tls/tls.crt", "key": f"{SECRETS}/tls/tls.key"},
}


def printed(tmp_path: Path, settings: Config, *options: str) -> tuple[int, str]:
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(settings))
    arguments = ["manifests", str(tmp_path / "settings.yaml"), "--image", "registry.example.com/controller:1"]
    done = CliRunner().invoke(app, [*arguments, *options])
    return done.exit_code, done.output


def test_the_pod_has_no_rights_and_mounts_secrets_by_name(tmp_path: Path) -> None:
    code, text = printed(tmp_path, SETTINGS, "--passphrase", "own.v1", "--egress-port", "5432")
    assert code == 0, text
    found = {one["kind"]: one for one in yaml.safe_load_all(text)}
    kinds = {"Namespace", "ServiceAccount", "ConfigMap", "PersistentVolumeClaim", "Deployment", "Service"}
    assert found.keys() == kinds | {"NetworkPolicy"}
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {one["name"]: one for one in container["volumeMounts"]}
    assert mounts["passphrase"] == {"name": "passphrase", "mountPath": f"{SECRETS}/passphrase", "readOnly": True}
    assert mounts["kubeconfigs"]["mountPath"] == f"{SECRETS}/kubeconfigs"
    named = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
    expected = {"kubeconfigs": "hosted-mesh-kubeconfigs", "passphrase": "own.v1", "tls": "hosted-mesh-tls"}
    assert named == expected
    assert [name for name, one in mounts.items() if not one.get("readOnly")] == ["data", "scratch"]
    assert found["Deployment"]["spec"]["replicas"] == 1
    assert found["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    egress = found["NetworkPolicy"]["spec"]["egress"]
    assert {port["port"] for rule in egress for port in rule["ports"]} == {53, 5432}
    # The file of the settings arrives as it is.
    assert yaml.safe_load(found["ConfigMap"]["data"]["settings.yaml"]) == SETTINGS


def test_a_watchers_kubeconfig_is_in_the_same_secret() -> None:
    settings = copy.deepcopy(SETTINGS)
    watch = {"kubeconfig": "/elsewhere/w", "tenant": "acme", "controlPlane": "hub"}
    edge = {"kubeconfig": f"{SECRETS}/kubeconfigs/a", "side": "data-plane", "tenants": ["acme"], "watch": watch}
    settings["clusters"]["acme-1"] = edge
    with pytest.raises(InvalidInputError, match="several folders"):
        manifests(Settings.model_validate(settings), "", Installation("image"))
    watch["kubeconfig"] = f"{SECRETS}/kubeconfigs/w"
    assert manifests(Settings.model_validate(settings), "", Installation("image"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"host": "127.0.0.1"}, "host"),
        ({"host": "127.0.0.1", "tls": None}, "host"),
        ({"clusters": {}}, "clusters"),
        ({"tls": {"certificate": "/a/tls.crt", "key": "/b/tls.key"}}, "tls"),
        ({"dnsCredentials": "/run/dns"}, "dnsCredentials"),
        ({"data": "data"}, "(settings)"),
        ({"data": f"{SECRETS}/passphrase"}, "(settings)"),
        ({"passphraseFile": f"{SECRETS}/tls/passphrase"}, "(settings)"),
    ],
)
def test_settings_that_do_not_fit_into_a_pod(tmp_path: Path, change: Config, field: str) -> None:
    code, text = printed(tmp_path, {**SETTINGS, **change})
    assert code == 1
    assert f"{field}: " in text or f"{field} " in text


def test_several_executors_share_a_volume_and_a_database(tmp_path: Path) -> None:
    code, text = printed(tmp_path, SETTINGS, "--replicas", "3")
    assert code == 1
    assert "replicas: of more than 1 require PostgreSQL" in text or "replicas of more than 1 require" in text
    with_server = {**SETTINGS, "databaseFile": f"{SECRETS}/database/url"}
    code, text = printed(tmp_path, with_server, "--replicas", "3", "--storage-class", "shared")
    assert code == 0, text
    found = {one["kind"]: one["spec"] for one in yaml.safe_load_all(text) if "spec" in one}
    assert found["PodDisruptionBudget"]["maxUnavailable"] == 1
    assert found["PersistentVolumeClaim"]["accessModes"] == ["ReadWriteMany"]
    assert found["PersistentVolumeClaim"]["storageClassName"] == "shared"
    assert found["Deployment"]["strategy"]["type"] == "RollingUpdate"
    (container,) = found["Deployment"]["template"]["spec"]["containers"]
    assert {"name": "PULUMI_HOME", "value": "/tmp/pulumi"} in container["env"]
    assert container["volumeMounts"][-1]["mountPath"] == f"{SECRETS}/database"
    # One executor needs no budget: it would block every drain of its node.
    assert "PodDisruptionBudget" not in printed(tmp_path, with_server)[1]


def issuers(*files: str | None) -> Config:
    """Issuers with these files of authorities."""
    grants = [{"role": "provider", "group": "admins"}]
    found: Config = {}
    for at, file in enumerate(files):
        own = {"url": f"https://{at}.example.com", "audiences": ["hosted-mesh"], "grants": grants}
        found[f"issuer-{at}"] = own if file is None else {**own, "certificateAuthority": file}
    return found


def test_authorities_of_issuers_are_a_mount(tmp_path: Path) -> None:
    folder = f"{SECRETS}/issuers"
    own = {**SETTINGS, "issuers": issuers(f"{folder}/a.pem", f"{folder}/b.pem", None)}
    code, text = printed(tmp_path, own, "--issuers", "own-issuers")
    assert code == 0, text
    found = {one["kind"]: one for one in yaml.safe_load_all(text)}
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert {"name": "issuers", "mountPath": folder, "readOnly": True} in pod["containers"][0]["volumeMounts"]
    expected = {"name": "issuers", "secret": {"secretName": "own-issuers", "defaultMode": 0o440}}
    assert expected in pod["volumes"]
    assert yaml.safe_load(found["ConfigMap"]["data"]["settings.yaml"]) == own
    for files, rule in (
        ((f"{folder}/a.pem", "/b/b.pem"), "several folders"),
        ((f"{SECRETS}/tls/a.pem",), "two volumes"),
    ):
        code, text = printed(tmp_path, {**SETTINGS, "issuers": issuers(*files)})
        assert code == 1
        assert rule in text
    assert "issuers" not in printed(tmp_path, SETTINGS)[1]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"database": "postgresql://controller:secret@db/controller"}, "database: has a password"),
        ({"database": "postgresql://db/controller?password=secret"}, "database: has a password"),
        ({"database": "mysql://db/controller"}, "database: must be a URL of PostgreSQL"),
        ({"database": "postgresql://db/c", "databaseFile": "/run/url"}, "databaseFile: replaces database"),
    ],
)
def test_a_database_s_password_has_no_place_in_the_settings(tmp_path: Path, change: Config, rule: str) -> None:
    code, text = printed(tmp_path, {**SETTINGS, **change})
    assert code == 1
    assert rule.replace(": ", " ") in text or rule in text
    assert "secret" not in text


def test_a_file_with_a_url(tmp_path: Path) -> None:
    settings = Settings.model_validate({**SETTINGS, "databaseFile": str(tmp_path / "url")})
    with pytest.raises(InvalidInputError, match="cannot be read: FileNotFoundError"):
        _ = settings.database_url
    (tmp_path / "url").write_text("mysql://controller:hidden@db/controller")
    with pytest.raises(InvalidInputError, match="has no URL of PostgreSQL") as refused:
        _ = settings.database_url
    assert "hidden" not in str(refused.value)
    (tmp_path / "url").write_text("postgresql://controller:hidden@db/controller\n")
    assert settings.database_url == settings.queue_url == "postgresql+psycopg://controller:hidden@db/controller"


def test_a_chart_needs_a_new_folder(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["chart", str(tmp_path)]).exit_code == 1
    assert CliRunner().invoke(app, ["chart", str(tmp_path / "new")]).exit_code == 0
    assert (tmp_path / "new/templates/controller.yaml").is_file()
