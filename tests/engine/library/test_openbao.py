"""OpenBao signs an intermediate's request by the commands of docs/components/trust.md: its root's key stays there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox import toolchain
from sandbox.progress import Progress
from tests.engine.library.engine import bash_in
from tests.support.openbao import openbao

# The server is a wheel of 75 MB.
pytestmark = pytest.mark.nightly


def test_the_pages_commands_make_an_intermediate(progress: Progress, tmp_path: Path) -> None:
    """`pulumi stack output request` prints a request here like that of MeshTrust."""
    sign, configure = bash_in("components/trust.md", "Signed by OpenBao or Vault, without cert-manager")
    assert "hosted-mesh:certificate" in configure
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop intermediate")])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    (tmp_path / "made.pem").write_bytes(request.public_bytes(serialization.Encoding.PEM))
    pulumi = tmp_path / "pulumi"
    pulumi.write_text('#!/bin/sh\n[ "$*" = "stack output request --stack trust" ] && cat made.pem\n')
    pulumi.chmod(0o755)
    tools = toolchain.ensure({"bao"}, progress=progress)
    with openbao(tools, tmp_path) as bao:
        root = bao.make_root()
        path = os.pathsep.join((str(tmp_path), str(tools["bao"].parent), os.environ["PATH"]))
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", sign],
            cwd=tmp_path,
            env={**os.environ, **bao.environment, "PATH": path},
            check=True,
            timeout=240,
        )
    assert (tmp_path / "root.pem").read_text().strip() == root.strip()
    own, signer = (
        x509.load_pem_x509_certificate((tmp_path / f"{one}.pem").read_bytes()) for one in ("certificate", "root")
    )
    own.verify_directly_issued_by(signer)
    assert own.public_key() == key.public_key()
    basic = own.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (basic.ca, basic.path_length) == (True, 0)
    limits = own.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or ()
    assert {one.value for one in limits} == {"istiod.shop.example.com", "mesh-shop.svc"}
