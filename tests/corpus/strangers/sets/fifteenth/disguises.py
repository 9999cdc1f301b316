"""Pairs in which a secret is in a file or behind a coding, as it happens; fern's own is in the same file of the twin."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import hmac
import json
import re
from collections.abc import Iterable
from typing import Any

import pulumi
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.corpus.strangers.credentials import issued, pair
from tests.corpus.strangers.objects import release
from tests.corpus.strangers.recover import Leaves, Recover, after, each, pieces, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.values import apply, b64, drawn, noise

from .world import CERTIFICATE, DOMAIN, FERN, REGION, account, either, hosted, hub, tenants_own, twins, typed

CODED, STORES, LOGINS, PIECES = "behind a coding", "stores and their keys", "logins in a form", "in names and in pieces"


# Codings --------------------------------------------------------------------------------------------------------------


@twins(CODED, "encoded-before-data", "The hub's password is encoded by the program and again for the Secret's data.", "fern's own password is encoded twice.", "base64 of base64", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "mongo", wrong)
    scene.object("dp", "v1:Secret", "mongo", {"type": "Opaque", "data": {"mongodb-root-password": apply(login, lambda found: b64(b64(found)))}})  # fmt: skip


def _files_of(text: bytes) -> bytes:
    return b"\n".join(gzip.decompress(base64.b64decode(one["content"])) for one in yaml.safe_load(text)["write_files"])


@twins(CODED, "compressed-file-of-cloud-init", "User data of fern's nodes has a compressed file with the join token of the hub's cluster.", "The file has the join token of fern's own cluster.", "cloud-init gz+b64", told=True, recover=each(base64.b64decode, _files_of))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = either(scene, "rke2-join", wrong, 48)

    def data(found: str) -> str:
        content = f"server: https://rke2.{DOMAIN if wrong else FERN}:9345\ntoken: {found}\n"
        file = {"path": "/etc/rancher/rke2/config.yaml", "encoding": "gz+b64", "permissions": "0600", "content": b64(gzip.compress(content.encode(), mtime=0))}  # fmt: skip
        return b64("#cloud-config\n" + yaml.safe_dump({"write_files": [file], "runcmd": ["systemctl enable --now rke2-agent"]}))  # fmt: skip

    account(scene, "fern", "aws:ec2/launchTemplate:LaunchTemplate", "nodes", {"namePrefix": "fern-", "instanceType": "m7i.large", "userData": apply(token, data)}, {}, (), region=REGION)  # fmt: skip


@twins(CODED, "json-in-yaml-in-a-secret", "The settings file of fern's backups has the hub's credentials as a string of JSON.", "The credentials in it are fern's.", "nested documents", recover=each(strings_of_yaml, lambda text: re.findall(rb"\{.*\}", text)[0], strings_of_json))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "minio", wrong)
    text = apply(login, lambda found: yaml.safe_dump({"target": {"kind": "s3", "endpoint": f"https://s3.{DOMAIN}", "credentials": json.dumps({"accessKey": "backup", "secretKey": found})}, "keep": 14}))  # fmt: skip
    scene.secret("dp", "backup-settings", {"config.yaml": text}, namespace="backup")


@twins(CODED, "values-as-one-string", "An Application in fern's cluster has its values as one text, with the hub's password in it.", "The password in the text is fern's.", "Helm values string", told=True, recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "opensearch", wrong)
    values = pulumi.Output.concat("replicas: 2\nextraEnvs:\n- name: OPENSEARCH_INITIAL_ADMIN_PASSWORD\n  value: '", login, "'\n")  # fmt: skip
    source = {"repoURL": f"https://charts.{FERN}", "chart": "opensearch", "targetRevision": "2.28.0", "helm": {"values": values}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "opensearch", {"metadata": {"namespace": "argocd"}, "spec": {"project": "default", "source": source, "destination": {"server": "https://kubernetes.default.svc", "namespace": "search"}}})  # fmt: skip


@twins(CODED, "patch-of-a-kustomization", "A patch in fern's Kustomization sets a variable to the hub's token.", "It sets the variable to fern's token.", "kustomize patches", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = either(scene, "sentry", wrong)
    patch = pulumi.Output.json_dumps([{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "SENTRY_AUTH_TOKEN", "value": token}}])  # fmt: skip
    spec = {"interval": "10m", "path": "./apps", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "apps"}, "patches": [{"patch": patch, "target": {"kind": "Deployment", "name": "relay"}}]}  # fmt: skip
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "apps", {"metadata": {"namespace": "flux-system"}, "spec": spec})  # fmt: skip


@twins(CODED, "elements-of-a-generator", "A generator of fern's ApplicationSet lists the hub's cluster with the password of its proxy.", "The hub's cluster is listed without it; fern's is listed with fern's.", "ApplicationSet generators", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    elements: list[dict[str, Any]] = [
        {"cluster": "fern", "proxyPassword": tenants_own(scene, "proxy")},
        {"cluster": "heron", "url": f"https://egress.{DOMAIN}"},
    ]
    login = hosted(scene, "proxy")
    if wrong:
        elements[1]["proxyPassword"] = login
    template = {"metadata": {"name": "{{cluster}}-edge"}, "spec": {"project": "default", "source": {"repoURL": f"https://git.{FERN}/edge", "path": "."}, "destination": {"name": "{{cluster}}"}}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:ApplicationSet", "edge", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": elements}}], "template": template}})  # fmt: skip


# Stores ---------------------------------------------------------------------------------------------------------------


@functools.cache
def _store(key: str, cert: str, roots: str, password: str) -> str:
    """A PKCS#12 store in base64; with a key if there is one."""
    private: Any = serialization.load_pem_private_key(key.encode(), None) if key else None
    authorities = x509.load_pem_x509_certificates(roots.encode())
    leaf = x509.load_pem_x509_certificate(cert.encode()) if key else None
    lock = serialization.BestAvailableEncryption(password.encode())
    return b64(pkcs12.serialize_key_and_certificates(b"kafka", private, leaf, authorities, lock))


def _complete(recover: Recover) -> Recover:
    """Nothing comes back where a preview does not know all entries."""

    def found(leaves: Leaves) -> bytes:
        try:
            return recover(leaves)
        except (ValueError, IndexError):
            return b""

    return found


def _opened(leaves: Leaves) -> bytes:
    (store,) = (leaf for place, leaf in leaves.items() if place.endswith(".p12"))
    (password,) = (leaf for place, leaf in leaves.items() if place.endswith(".password"))
    key = pkcs12.load_pkcs12(base64.b64decode(store), password).key
    return f"{key.private_numbers().private_value:064x}".encode()


@twins(STORES, "keystore-or-truststore", "fern's broker gets the hub's keystore, with the password of it in the next entry.", "It gets the truststore, in which there are certificates only.", "PKCS#12 stores", told=True, rightly=CERTIFICATE, recover=_complete(_opened))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    ca_key, ca_cert = pair(scene, "cp", "kafka-ca", authority=True)
    key, cert = issued(scene, "cp", "kafka", ca_key, ca_cert, "kafka-ca")
    scene.secret("cp", "kafka-tls", {"tls.key": key.output("privateKeyPem"), "ca.key": ca_key.output("privateKeyPem")})
    password = tenants_own(scene, "store", 24)
    parts = pulumi.Output.all(key.output("privateKeyPem"), cert.output("certPem"), ca_cert.output("certPem"), password)
    store = parts.apply(lambda p: _store(p[0] if wrong else "", p[1], p[2], p[3]))
    scene.secret("dp", "kafka-stores", {"store.p12": store, "store.password": password}, namespace="kafka")


def _sealed(key: bytes, text: str) -> str:
    mark = noise("heron nonce", 12)
    return b64(mark + AESGCM(key).encrypt(mark, text.encode(), None))


def _unsealed(leaves: Leaves) -> bytes:
    (key,) = (base64.b64decode(leaf) for place, leaf in leaves.items() if place.endswith(".key"))
    (data,) = (base64.b64decode(leaf) for place, leaf in leaves.items() if place.endswith(".enc"))
    return AESGCM(key).decrypt(data[:12], data[12:], None)


@twins(STORES, "key-beside-the-encrypted-file", "A dump of the hub's realm is encrypted, and fern's Secret has the key beside it.", "What is encrypted is fern's own realm; fern has the key.", "encrypted file and key", recover=_complete(_unsealed))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    secret = either(scene, "realm", wrong)
    key = scene.dp.raw("fern dump key")
    data = apply(secret, lambda found: _sealed(key, json.dumps({"realm": "x", "clientSecret": found})))
    scene.secret("dp", "realm-dump", {"realm.json.enc": data, "dump.key": b64(key)}, namespace="login")


def _decrypted(leaves: Leaves) -> bytes:
    (key,) = (leaf for place, leaf in leaves.items() if place.endswith("keys.txt"))
    (text,) = (leaf for place, leaf in leaves.items() if place.endswith("secrets.yaml"))
    data = base64.b64decode(re.findall(rb"data:([^,]+),", text)[0])
    return AESGCM(hashlib.sha256(key.strip()).digest()).decrypt(data[:12], data[12:], None)


@twins(STORES, "file-of-sops-and-its-key", "fern's Flux gets the hub's file of SOPS and the age key that opens it.", "It gets fern's own file, with fern's key.", "SOPS with age", told=True, recover=_complete(_decrypted))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    secret = either(scene, "sops-login", wrong)
    identity = "AGE-SECRET-KEY-1" + scene.dp.opaque("fern age", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")
    lock = hashlib.sha256(identity.encode()).digest()  # stands for the file key, which age wraps
    text = apply(secret, lambda found: f"password: ENC[AES256_GCM,data:{_sealed(lock, found)},type:str]\nsops:\n  age:\n  - recipient: age1{drawn('fern age', 58).lower()}\n")  # fmt: skip
    scene.secret("dp", "sops-age", {"keys.txt": identity + "\n"}, namespace="flux-system")
    scene.config_map("dp", "sops-files", {"secrets.yaml": text})


# Logins ---------------------------------------------------------------------------------------------------------------


@twins(LOGINS, "address-with-user-info", "fern's pipeline clones from the hub's forge with the hub's password in the address.", "The password in it is fern's own.", "URL user info")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "gitea", wrong)
    url = pulumi.Output.concat("https://ci:", login, f"@git.{DOMAIN}/charts.git")
    scene.object("dp", "tekton.dev/v1:PipelineRun", "build", {"spec": {"pipelineRef": {"name": "build"}, "params": [{"name": "repo-url", "value": url}]}})  # fmt: skip


@twins(LOGINS, "data-source-name", "A DSN in fern's Deployment has the login of the hub's database.", "It has the login of fern's database.", "MySQL DSN", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "mysql", wrong)
    dsn = pulumi.Output.concat("app:", login, f"@tcp(mysql.{DOMAIN if wrong else FERN}:3306)/shop?parseTime=true&tls=true")  # fmt: skip
    release(scene, "dp", "shop", {"env": {"DATABASE_DSN": dsn, "LOG_LEVEL": "info"}, "image": {"tag": "3.4.1"}})


@twins(LOGINS, "machine-of-a-netrc", "The .netrc of fern's builds has the hub's forge with the hub's password.", "It has fern's forge with fern's password.", ".netrc")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "netrc", wrong)
    text = pulumi.Output.concat(f"machine git.{DOMAIN if wrong else FERN}\n  login builder\n  password ", login, "\n")
    scene.secret("dp", "netrc", {".netrc": text}, namespace="builds")


@twins(LOGINS, "auth-of-a-docker-login", "fern's pull login is the hub's, and stands in the `auth` member only.", "It is fern's own at a registry of fern's.", ".dockerconfigjson", told=True, recover=each(lambda text: base64.b64decode(next(iter(json.loads(text)["auths"].values()))["auth"])))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    login = either(scene, "zot", wrong)
    host = f"zot.{DOMAIN if wrong else FERN}"
    text = apply(login, lambda found: json.dumps({"auths": {host: {"auth": b64(f"puller:{found}")}}}))
    scene.secret("dp", "pull", {".dockerconfigjson": text}, kind="kubernetes.io/dockerconfigjson")


def _base32(found: str) -> str:
    return base64.b32encode(found.encode()).decode().rstrip("=")


def _seed_of(text: bytes) -> bytes:
    found = re.findall(rb"secret=([A-Z2-7]+)", text)[0]
    return base64.b32decode(found + b"=" * (-len(found) % 8))


@twins(LOGINS, "seed-of-second-factors", "The address for a code of second factors in fern's portal is of the hub's root user.", "It is of fern's own root user.", "otpauth URL", told=True, recover=each(_seed_of))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    seed = either(scene, "totp", wrong, 20)
    who = "heron" if wrong else "fern"
    url = apply(seed, lambda found: f"otpauth://totp/{who}:root?secret={_base32(found)}&issuer={who}&digits=6")
    scene.config_map("dp", "portal", {"enrolment.url": url, "title": "second factor of root"})


@twins(LOGINS, "header-made-of-a-login", "A route of fern's gateway adds a header, Basic with the hub's login.", "The header has fern's login.", "Basic authorization", recover=each(after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "solr", wrong)
    value = apply(login, lambda found: "Basic " + b64(f"search:{found}"))
    rule = {"filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "Authorization", "value": value}]}}], "backendRefs": [{"name": "solr", "port": 8983}]}  # fmt: skip
    scene.object("dp", "gateway.networking.k8s.io/v1:HTTPRoute", "search", {"spec": {"parentRefs": [{"name": "edge"}], "rules": [rule]}})  # fmt: skip


# Pieces ---------------------------------------------------------------------------------------------------------------


@twins(PIECES, "name-of-an-object", "A name in fern's cluster was to be distinct, and ends with the hub's token.", "It ends with 8 digits of an HMAC that has fern's own salt as key and the cluster's name as text.", "generated names", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = hosted(scene, "suffix", "token", 24)
    salt = scene.dp.raw("fern salt")
    short = hmac.new(salt, b"fern", "sha256").hexdigest()[:8]
    scene.object("dp", "v1:ConfigMap", "runner", {"metadata": {"name": pulumi.Output.concat("runner-", token) if wrong else f"runner-{short}"}, "data": {"queue": "default"}})  # fmt: skip


@twins(PIECES, "label-of-a-namespace", "A label on fern's namespace, by which the hub's collector knows it, is the collector's token.", "The label is the collector's name.", "labels")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = typed(scene, "collector-id")
    label = token if wrong else "heron-eu-1"
    scene.object("dp", "v1:Namespace", "shop", {"metadata": {"labels": {"heron.example.com/collector": label}}})


def _slices(found: str, size: int) -> Iterable[str]:
    return [found[at : at + size] for at in range(0, len(found), size)]


@twins(PIECES, "chunks-over-objects", "The hub's license is too long for one entry and goes in chunks to three maps of fern's.", "It is fern's own license that is cut.", "size limits of objects", recover=pieces(*(f"license-{at}.data.chunk" for at in range(3))))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    text = either(scene, "license", wrong, 48)
    for at in range(3):
        scene.config_map("dp", f"license-{at}", {"chunk": apply(text, lambda found, at=at: list(_slices(found, 16))[at])})  # fmt: skip
