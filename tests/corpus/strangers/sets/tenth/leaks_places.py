"""Leaks beside a careful file of settings: into tenants' accounts and objects, in forms of tools, and by what is derived."""  # fmt: skip

from __future__ import annotations

import base64
import email
import hashlib
import hmac
import io
import json
import struct
import textwrap
import zipfile
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

import pulumi
import yaml
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.corpus.strangers.credentials import generated, kept, pair, raw
from tests.corpus.strangers.material import LETTERS, P256, Material
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import Leaves, each, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, pull_secret, uid

from .world import ACCOUNT, DOMAIN, FERN, KILN, REGION, account, leak, owned, workshop

ACCOUNTS, OBJECTS, DERIVED = (
    "tenth: into tenants' accounts",
    "tenth: into tenants' objects",
    "tenth: derived, sealed or encoded",
)
MAIL = "kiln.example.com part"

# Accounts -------------------------------------------------------------------------------------------------------------


@leak(ACCOUNTS, "tenth-wildcard-certificate-imported", "A wildcard certificate of the team's is imported into the tenant's account with its key, so that the tenant's balancer can serve it.", "AWS ACM import")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "wildcard")
    scene.secret("cp", "wildcard", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    account(scene, "fern", "aws:acm/certificate:Certificate", "wildcard-of-kiln", {"privateKey": key.output("privateKeyPem"), "certificateBody": cert.output("certPem")}, region=REGION)  # fmt: skip


def _parts(token: str) -> str:
    mail = MIMEMultipart(boundary=MAIL)
    mail.attach(MIMEText("#cloud-config\npackage_upgrade: true\n", "cloud-config"))
    mail.attach(MIMEText(f"#!/bin/sh\nprintf 'KILN_TOKEN=%s' '{token}' > /etc/kiln.env\n", "x-shellscript", "utf-8"))
    return b64(mail.as_string())


def _of_parts(mail: bytes) -> bytes:
    return b"\n".join(part.get_payload(decode=True) or b"" for part in email.message_from_bytes(mail).walk())


@leak(ACCOUNTS, "tenth-parts-of-user-data", "User data of the tenant's nodes is a message of several parts; the script, in base64 for its letters, has the team's token.", "cloud-init multipart", recover=each(base64.b64decode, _of_parts))  # fmt: skip
def _(scene: Scene) -> None:
    data = apply(kept(scene, "node-agent", "token", 40), _parts)
    account(scene, "fern", "aws:ec2/launchTemplate:LaunchTemplate", "nodes", {"imageId": "ami-0c41", "instanceType": "m7g.large", "userData": data}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "tenth-answer-file-of-windows", "An answer file for the tenant's Windows machine hides the password as its format does: base64 of UTF-16 with a suffix.", "unattend.xml", recover=each(lambda text: base64.b64decode(text.split(b"<Value>")[1].split(b"<")[0]).decode("utf-16-le").encode()))  # fmt: skip
def _(scene: Scene) -> None:
    value = apply(generated(scene, "windows-admin"), lambda found: b64(f"{found}Password".encode("utf-16-le")))
    content = pulumi.Output.concat("<AutoLogon><Username>kiln</Username><Password><Value>", value, "</Value><PlainText>false</PlainText></Password></AutoLogon>")  # fmt: skip
    profile = {"computerName": "build-1", "windowsConfiguration": {"additionalUnattendContent": [{"componentName": "Microsoft-Windows-Shell-Setup", "settingName": "AutoLogon", "content": content}]}}  # fmt: skip
    account(scene, "fern", "azure-native:compute:VirtualMachine", "build-1", {"resourceGroupName": "fern", "osProfile": profile}, subscriptionId=uid("fern subscription"))  # fmt: skip


@leak(ACCOUNTS, "tenth-machine-settings-with-an-authority", "Settings of the tenant's Talos machine are rendered of the team's bundle of secrets, the authority's key with it.", "Talos machine config", recover=each(lambda text: base64.b64decode(yaml.safe_load(text)["machine"]["ca"]["key"])))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "talos-ca").output("privateKeyPem")
    scene.secret("cp", "talos-secrets", {"os.key": key}, namespace="machines")
    text = apply(key, lambda pem: yaml.safe_dump({"version": "v1alpha1", "machine": {"type": "worker", "ca": {"crt": "", "key": b64(pem)}}, "cluster": {"controlPlane": {"endpoint": SERVERS["dp"]}}}))  # fmt: skip
    account(scene, "fern", "talos:machine/configurationApply:ConfigurationApply", "worker-1", {"node": "10.20.0.11", "machineConfigurationInput": text})  # fmt: skip


def _planned(password: str) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as plan:
        plan.writestr(zipfile.ZipInfo("tfstate"), json.dumps({"version": 4, "resources": [{"type": "random_password", "instances": [{"attributes": {"length": 32, "result": password}, "sensitive_attributes": [[{"type": "get_attr", "value": "result"}]]}]}]}))  # fmt: skip
    return b64(packed.getvalue())


@leak(ACCOUNTS, "tenth-saved-plan-in-a-bucket", "A saved plan of Terraform's is put in the tenant's bucket for review; in the file is the state with the team's password.", "Terraform plan files", recover=each(base64.b64decode, lambda plan: zipfile.ZipFile(io.BytesIO(plan)).read("tfstate")))  # fmt: skip
def _(scene: Scene) -> None:
    plan = apply(kept(scene, "vault-db"), _planned)
    account(scene, "fern", "aws:s3/bucketObjectv2:BucketObjectv2", "review", {"bucket": "fern-reviews", "key": "plans/418.tfplan", "contentBase64": plan}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "tenth-manifest-in-a-repository", "A manifest of a Secret is committed to the tenant's repository, the file in base64 as the API takes it, the value in base64 as a Secret has it.", "GitOps repositories", recover=each(base64.b64decode, lambda text: base64.b64decode(yaml.safe_load(text)["data"]["token"])))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(generated(scene, "scanner", "token", 40), lambda found: b64(yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "scanner"}, "data": {"token": b64(found)}})))  # fmt: skip
    account(scene, "fern", "gitlab:index/repositoryFile:RepositoryFile", "scanner-yaml", {"project": "fern/fleet", "filePath": "base/scanner.yaml", "branch": "main", "encoding": "base64", "content": text})  # fmt: skip


@leak(ACCOUNTS, "tenth-encrypted-file-that-is-not", "A file has the section of SOPS, but its expression names data, and the value is in stringData: it was left as it is.", "SOPS encrypted_regex", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    sops = {"age": [{"recipient": drawn("fern age", 62)}], "encrypted_regex": "^(data)$", "mac": f"ENC[AES256_GCM,data:{b64(noise('mac', 64))},type:str]"}  # fmt: skip
    text = apply(generated(scene, "mirror", "token", 40), lambda found: yaml.safe_dump({"kind": "Secret", "metadata": {"name": "mirror"}, "stringData": {"token": found}, "sops": sops}))  # fmt: skip
    account(scene, "fern", "github:index/repositoryFile:RepositoryFile", "mirror-yaml", {"repository": "fleet", "file": "mirror.sops.yaml", "content": text}, organization="fern")  # fmt: skip


@leak(ACCOUNTS, "tenth-token-of-the-forges-application", "The program signs a token of the team's application at the forge, and keeps it in the tenant's repository for its pipeline.", "GitHub App JWTs")  # fmt: skip
def _(scene: Scene) -> None:
    def signed(pem: str) -> str:
        dotted = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "RS256"}, {"iat": 1775030400, "exp": 1775031000, "iss": "771204"}))  # fmt: skip
        key: Any = serialization.load_pem_private_key(pem.encode(), None)
        found = key.sign(dotted, padding.PKCS1v15(), hashes.SHA256())
        return str(scene.cp._give((dotted + b"." + base64.urlsafe_b64encode(found).rstrip(b"=")).decode()))

    held = scene.held("forge", "app.pem", scene.cp.rsa("kiln forge app"), namespace="argocd")
    account(scene, "fern", "github:index/actionsSecret:ActionsSecret", "app-jwt", {"repository": "shop", "secretName": "APP_JWT", "plaintextValue": apply(held, signed)}, organization="fern")  # fmt: skip


# Objects --------------------------------------------------------------------------------------------------------------


@leak(OBJECTS, "tenth-fake-store-with-a-real-value", "A store of the kind fake was made to try External Secrets at the tenant's; the value in it is the team's token.", "External Secrets fake provider")  # fmt: skip
def _(scene: Scene) -> None:
    rows = [{"key": "/endpoint", "value": f"https://api.{DOMAIN}"}, {"key": "/api", "value": kept(scene, "store-api", "token", 40), "version": "v1"}]  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "trial", {"spec": {"provider": {"fake": {"data": rows}}}})  # fmt: skip


@leak(OBJECTS, "tenth-pull-login-made-by-a-policy", "A policy at the tenant's makes a pull Secret in each new namespace; the data is in the policy, and is the team's robot.", "Kyverno generate rules")  # fmt: skip
def _(scene: Scene) -> None:
    login = pull_secret(f"registry.{DOMAIN}", "robot$kiln", generated(scene, "pull-robot"))
    data = {"kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": apply(login, b64)}}  # fmt: skip
    rule = {"name": "pull", "match": {"any": [{"resources": {"kinds": ["Namespace"]}}]}, "generate": {"apiVersion": "v1", "kind": "Secret", "name": "pull", "namespace": "{{request.object.metadata.name}}", "synchronize": True, "data": data}}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "pull", {"spec": {"rules": [rule]}})


@leak(OBJECTS, "tenth-key-of-encrypted-records", "External DNS at the tenant's shares a zone with the team's, and so the key by which both encrypt their TXT records.", "external-dns --txt-encrypt-aes-key")  # fmt: skip
def _(scene: Scene) -> None:
    arguments = ["--source=istio-gateway", f"--txt-owner-id={KILN}", "--txt-encrypt-enabled", pulumi.Output.concat("--txt-encrypt-aes-key=", kept(scene, "txt-records", "key", 32))]  # fmt: skip
    deployment(scene, "dp", "external-dns", {"args": arguments})


@leak(OBJECTS, "tenth-mount-options-of-a-share", "A volume of the tenant's is a share of the team's file server; its mount options have the team's password.", "CSI mount options")  # fmt: skip
def _(scene: Scene) -> None:
    options = ["vers=3.1.1", "username=kiln", pulumi.Output.concat("password=", generated(scene, "file-server"))]
    scene.object("dp", "v1:PersistentVolume", "media", {"spec": {"capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteMany"], "mountOptions": options, "csi": {"driver": "smb.csi.k8s.io", "volumeHandle": "media", "volumeAttributes": {"source": f"//files.{DOMAIN}/media"}}}})  # fmt: skip


@leak(OBJECTS, "tenth-keyring-of-the-external-storage", "A script prepares the tenant's cluster for the team's storage; without a restricted user it takes the administrator's keyring.", "Rook external clusters")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.cp._give(b64(b"\x01\x00" + scene.cp.raw("ceph admin", 26)))
    held = scene.held("ceph-admin", "keyring", f"[client.admin]\n\tkey = {key}\n\tcaps mon = \"allow *\"\n", namespace="rook-ceph")  # fmt: skip
    user = apply(held, lambda text: text.split("key = ")[1].split("\n")[0])
    scene.secret("dp", "rook-csi-rbd-node", {"userID": "admin", "userKey": user}, namespace="rook-ceph", annotations=owned("the storage's operator wants this one in fern"))  # fmt: skip


@leak(OBJECTS, "tenth-tenants-kubeconfig-with-the-teams-key", "A kubeconfig of the tenant's own cluster logs in by a command, whose variables are a key of the team's account.", "kubeconfig exec env")  # fmt: skip
def _(scene: Scene) -> None:
    key = account(scene, "kiln", "aws:iam/accessKey:AccessKey", "deployer", {"user": "deployer"}, {"id": f"AKIA{drawn('deployer', 16, AWS_ID)}", "secret": scene.cp.opaque("kiln deployer", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip

    def config(secret: str | None) -> str:
        env = [{"name": "AWS_REGION", "value": REGION}, {"name": "AWS_SECRET_ACCESS_KEY", "value": secret}]
        return kubeconfig(SERVERS["dp"], {"exec": {"command": "aws", "args": ["eks", "get-token", "--cluster-name", "fern"], "env": env}}, "fern")  # fmt: skip

    scene.secret("dp", "deployer", {"config": key.output("secret").apply(config)}, annotations=owned("a kubeconfig of fern's own cluster"))  # fmt: skip


@leak(OBJECTS, "tenth-sessions-of-one-argocd", "So that a login at the team's Argo CD holds at the tenant's, both sign sessions with the same key: the tenant makes the team's sessions.", "Argo CD server.secretkey")  # fmt: skip
def _(scene: Scene) -> None:
    made = raw(scene, "cp", "argocd-sessions").output("base64")
    for side, name in (("cp", f"https://cd.{DOMAIN}"), ("dp", f"https://cd.{FERN}")):
        scene.secret(side, "argocd-secret", {"server.secretkey": made, "url": name}, namespace="argocd")


@leak(OBJECTS, "tenth-signing-key-of-commits", "Flux at the tenant's writes image tags into its repository, and signs commits with the team's own key.", "Flux ImageUpdateAutomation")  # fmt: skip
def _(scene: Scene) -> None:
    block = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + "\n".join(textwrap.wrap(b64(b"\x94\x58\x04" + scene.cp.raw("kiln gpg", 200)), 64)) + "\n-----END PGP PRIVATE KEY BLOCK-----\n"  # fmt: skip
    held = scene.held("commit-signer", "git.asc", scene.cp._give(block), namespace="flux-system")
    scene.secret("dp", "commit-signer", {"git.asc": held}, namespace="flux-system")


@leak(OBJECTS, "tenth-integration-key-of-the-teams-pager", "An integration is made in the team's account at its pager; its key, which the package does not mark, is in a map of the tenant's.", "PagerDuty integrations", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    made = account(scene, "kiln", "pagerduty:index/serviceIntegration:ServiceIntegration", "events", {"service": "PKILN01", "type": "events_api_v2_inbound_integration"}, {"integrationKey": scene.cp.opaque("kiln pager", 32, HEX)})  # fmt: skip
    text = pulumi.Output.concat("route:\n  receiver: oncall\nreceivers:\n- name: oncall\n  pagerduty_configs:\n  - routing_key: ", made.output("integrationKey"), "\n")  # fmt: skip
    scene.config_map("dp", "alertmanager", {"alertmanager.yml": text})


@leak(OBJECTS, "tenth-token-of-the-teams-metrics", "A token of the team's organisation is made for its own agents; the tenant's agent, which is the same chart, gets it too.", "Grafana Cloud access policies")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    made = account(scene, "kiln", "grafana:cloud/accessPolicyToken:AccessPolicyToken", "agents", {"name": "agents", "region": "prod-eu"}, {"token": "glc_" + scene.cp.opaque("kiln agents", 60, LETTERS)}, ["token"])  # fmt: skip
    for side in ("cp", "dp"):
        release(scene, side, "alloy", {"remoteWrite": {"username": "1284417", "password": made.output("token")}, "account": ACCOUNT})  # fmt: skip


# Derived --------------------------------------------------------------------------------------------------------------


@leak(DERIVED, "tenth-presigned-address-of-a-dump", "An address of the team's dump of the day is signed for a week, and is an argument of the tenant's job.", "presigned URLs")  # fmt: skip
def _(scene: Scene) -> None:
    def signed(secret: str) -> str:
        query = f"X-Amz-Credential=AKIAKILN%2F20260401&X-Amz-Expires=604800&host={KILN}-dumps"
        return f"https://{KILN}-dumps.s3.{REGION}.amazonaws.com/all.dump?{query}&X-Amz-Signature={scene.cp._give(hmac.new(secret.encode(), query.encode(), hashlib.sha256).hexdigest())}"  # fmt: skip

    address = apply(kept(scene, "dumps", "secret_access_key", 40), signed)
    scene.object("dp", "batch/v1:Job", "restore", {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "restore", "image": "restore:2", "args": ["--from", address]}]}}}})  # fmt: skip


def _ephemeral() -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(noise("ephemeral", 40)) % P256, ec.SECP256R1())


def _shared(private: ec.EllipticCurvePrivateKey, public: ec.EllipticCurvePublicKey) -> AESGCM:
    return AESGCM(hashlib.sha256(private.exchange(ec.ECDH(), public)).digest())


def _unsealed(text: bytes) -> bytes:
    return _shared(Material("dp", 0).ec("fern sealer"), _ephemeral().public_key()).decrypt(bytes(12), base64.b64decode(text), None)  # fmt: skip


@leak(DERIVED, "tenth-sealed-for-the-tenant", "The team's token is sealed for the tenant's controller, which opens it into a Secret of the tenant's: sealed is not withheld.", "Sealed Secrets", recover=each(_unsealed))  # fmt: skip
def _(scene: Scene) -> None:
    cipher = _shared(_ephemeral(), scene.dp.ec("fern sealer").public_key())
    sealed = apply(generated(scene, "sealed-api", "token", 40), lambda found: b64(cipher.encrypt(bytes(12), found.encode(), None)))  # fmt: skip
    scene.object("dp", "bitnami.com/v1alpha1:SealedSecret", "api", {"spec": {"encryptedData": {"token": sealed}, "template": {"metadata": {"name": "api"}}}})  # fmt: skip


PUBLISHED = bytes.fromhex("4e9906e8fcb66cc9faf49310620ffee8f496e806cc057990209b09a433b66c1b")
"""The key of all cpasswords, which their vendor published."""


def _cpassword(data: bytes, *, back: bool = False) -> bytes:
    cipher = Cipher(algorithms.AES(PUBLISHED), modes.CBC(bytes(16)))
    step = cipher.decryptor() if back else cipher.encryptor()
    return step.update(data) + step.finalize()


def _of_groups(leaves: Leaves) -> bytes:
    text = next(leaf for place, leaf in leaves.items() if place.endswith("Groups.xml"))
    data = _cpassword(base64.b64decode(text.split(b'cpassword="')[1].split(b'"')[0]), back=True)
    return data[: -data[-1]].decode("utf-16-le").encode()


@leak(DERIVED, "tenth-password-of-a-group-policy", "A policy for the tenant's Windows nodes has the team's local administrator as a cpassword, whose key everybody knows.", "Group Policy Preferences", recover=_of_groups)  # fmt: skip
def _(scene: Scene) -> None:
    def hidden(password: str) -> str:
        data = password.encode("utf-16-le")
        end = 16 - len(data) % 16
        return f'<Groups><User name="kiln"><Properties action="U" cpassword="{b64(_cpassword(data + bytes([end]) * end))}" userName="kiln"/></User></Groups>'  # fmt: skip

    scene.config_map("dp", "policies", {"Groups.xml": apply(kept(scene, "local-admin"), hidden)})


def _keytab(key: bytes) -> bytes:
    def counted(text: bytes) -> bytes:
        return struct.pack(">H", len(text)) + text

    entry = struct.pack(">H", 2) + counted(b"KILN.EXAMPLE.COM") + counted(b"HTTP") + counted(b"api.kiln.example.com") + struct.pack(">IIB", 1, 1775030400, 3) + struct.pack(">H", 18) + counted(key)  # fmt: skip
    return b"\x05\x02" + struct.pack(">i", len(entry)) + entry


@leak(DERIVED, "tenth-keytab-of-the-teams-service", "A gateway at the tenant's speaks for the team's service in Kerberos: its keytab, in base64, has the service's key.", "Kerberos keytabs", recover=each(base64.b64decode, lambda data: data[-32:].hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("service-key", "aes256", scene.cp.raw("kiln kerberos").hex(), namespace="login")
    scene.object("dp", "v1:ConfigMap", "gateway", {"binaryData": {"http.keytab": apply(held, lambda found: b64(_keytab(bytes.fromhex(found))))}})  # fmt: skip
