"""Certificates and kubeconfigs: who signed whom, for which names, kept or issued anew, private."""

from __future__ import annotations

import base64
import json
import stat
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from sandbox.clusters.credentials.certificates import issue, new_authority
from sandbox.clusters.credentials.files import Credentials, api_server_names, kubeconfig
from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.state import Layout
from sandbox.clusters.topology import Topology

CONTROL_PLANE, DATA_PLANE = addresses_of(Topology.of(2)).values()


def loaded(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def names_of(certificate: x509.Certificate) -> set[str]:
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {*extension.get_values_for_type(x509.DNSName), *map(str, extension.get_values_for_type(x509.IPAddress))}


def test_a_certificate_is_signed_by_its_authority_only() -> None:
    one, other = new_authority("one"), new_authority("other")
    leaf = loaded(issue(one, "leaf", names=["a.test", "10.0.0.1"]).certificate)
    leaf.verify_directly_issued_by(loaded(one.certificate))
    with pytest.raises((InvalidSignature, ValueError)):
        leaf.verify_directly_issued_by(loaded(other.certificate))
    san = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert san.get_values_for_type(x509.IPAddress) == [ip_address("10.0.0.1")]
    assert leaf.not_valid_before_utc < datetime.now(UTC)


def test_groups_are_organizations() -> None:
    subject = loaded(issue(new_authority("ca"), "system:node:n", organizations=["system:nodes"]).certificate).subject
    assert [one.value for one in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:nodes"]
    assert [one.value for one in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["system:node:n"]


def test_the_api_server_serves_every_name_it_is_called_by(tmp_path: Path) -> None:
    credentials = Credentials(Layout(tmp_path), DATA_PLANE)
    credentials.write("https://127.0.0.1:20001")
    served = names_of(loaded(credentials.certificate("apiserver").read_bytes()))
    assert served == set(api_server_names(DATA_PLANE))
    wanted = {"localhost", "127.0.0.1", "10.90.0.20", "10.89.0.1", "10.97.0.1", "api.data-plane.sandbox.test"}
    assert served > {*wanted, "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}


def test_authorities_stay_and_certificates_are_issued_anew(tmp_path: Path) -> None:
    credentials = Credentials(Layout(tmp_path), CONTROL_PLANE)
    credentials.write("https://127.0.0.1:20001")
    before = {path.name: path.read_bytes() for path in credentials.directory.iterdir()}
    credentials.write("https://127.0.0.1:20002")
    after = {path.name: path.read_bytes() for path in credentials.directory.iterdir()}
    same = {name for name in before if before[name] == after[name]}
    kept = {f"{name}.{end}" for name in ("cluster", "etcd", "front-proxy") for end in ("crt", "key")}
    assert same == kept | {"service-accounts.key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in credentials.directory.iterdir()} == {0o600}
    assert stat.S_IMODE(credentials.directory.stat().st_mode) == 0o700
    assert all(b"PRIVATE KEY" in path.read_bytes() or path.suffix != ".key" for path in credentials.secret_files())


def test_an_authority_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    credentials = Credentials(Layout(tmp_path), DATA_PLANE)
    credentials.write("https://127.0.0.1:20001")
    credentials.certificate("cluster").unlink()
    credentials.write("https://127.0.0.1:20001")
    leaf = loaded(credentials.certificate("admin").read_bytes())
    leaf.verify_directly_issued_by(loaded(credentials.certificate("cluster").read_bytes()))


def test_a_kubeconfig_of_both_clusters_has_both_contexts() -> None:
    pair = issue(new_authority("ca"), "admin")
    text = kubeconfig({name: (f"https://127.0.0.1:{port}", b"CA", pair) for name, port in (("a", 1), ("b", 2))})
    config = json.loads(text)
    assert config["current-context"] == "a"
    assert [one["name"] for one in config["contexts"]] == ["a", "b"]
    assert config["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:2"
    assert base64.b64decode(config["users"][0]["user"]["client-key-data"]) == pair.key
