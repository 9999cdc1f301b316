"""Programs about encodings: leaks, and harmless neighbours."""

from __future__ import annotations

import base64
import difflib
import gzip
import hashlib
import html
import json
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pulumi
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.corpus.blind_corpus.credentials import kept, minted, raw
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import each, strings_of_json, unpadded
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import HEX, apply, b64, drawn, kubeconfig, noise, uid
from tests.corpus.blind_corpus.worlds import foundry, grid, harbor, kiln, lantern, loom, orchard, tern, wren

grid.files(grid.FILES, "migrations", "migrations with checksums, and functions about passwords", {"V7__accounts.sql": grid.SQL % noise("migration", 32).hex(), "V8__down.sql": "DROP TABLE account;\n", "checksums": "".join(f"{noise(f'sql {at}', 32).hex()}  V{at}.sql\n" for at in range(9))})  # fmt: skip

grid.files(grid.FILES, "locales", "words of a login page in several languages", {"de.json": json.dumps(grid.WORDS), "ja.json": json.dumps({"password": "パスワード", "token": "トークン"}), "de.po": "".join(f'msgid "{key}"\nmsgstr "{value}"\n' for key, value in grid.WORDS.items())})  # fmt: skip

grid.files(grid.FILES, "packed-script", "a script that is gzipped, in base64", {"entrypoint.sh.gz": b64(gzip.compress(grid.SCRIPT.encode(), mtime=0)), "sha256": hashlib.sha256(grid.SCRIPT.encode()).hexdigest()})  # fmt: skip

grid.files(grid.FILES, "examples-for-developers", "an example of variables, with values to be replaced", {".env.example": "DATABASE_URL=postgresql://user:password@localhost:5432/app\nAPI_TOKEN=changeme\nAWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\nJWT_SECRET=your-256-bit-secret\n"})  # fmt: skip

grid.files(grid.FILES, "openapi-of-the-platform", "a description of the platform's interface, with examples of tokens", {"openapi.yaml": yaml.safe_dump({"openapi": "3.1.0", "info": {"title": "Grid", "version": "7"}, "servers": [{"url": f"https://api.{grid.DOMAIN}/v7"}], "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}, "schemas": {"Token": {"type": "object", "properties": {"access_token": {"type": "string", "format": "password", "example": "eyJhbGciOiJub25lIn0.e30."}}}}}})})  # fmt: skip

grid.files(grid.FILES, "vectors-of-a-test", "vectors of a cipher for tests, out of a standard", {"aes.json": json.dumps({"algorithm": "AES-GCM", "tests": [{"tcId": 1, "key": "5b9604fe14eadba931b0ccf34843dab9", "iv": "028318abc1824029138141a2", "msg": "001d0c231287c1182784554ca3a21908", "ct": "26073cc1d851beff176384dc9896d5ff", "tag": "0a3ea7a5487cb5f7d70fb6c58d038554"}]})})  # fmt: skip

grid.files(grid.CONFIGS, "flags-and-variants", "flags in three forms: JSON, YAML and base64", {"flags.json": json.dumps({"flags": grid.FLAGS}), "flags.yaml": yaml.safe_dump({"flags": grid.FLAGS}), "flags.b64": base64.b64encode(json.dumps({"flags": grid.FLAGS}).encode()).decode()})  # fmt: skip


@leak(grid.FORMS, "xml-of-a-build", "A file of settings for builds is XML, in which signs are escaped; the server's login is the platform's uploader.", "Maven settings.xml", recover=each(lambda text: html.unescape(text.decode()).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("maven", 12) + "&<>" + scene.cp.opaque("maven 2", 12)
    scene.cp.given.append(word)
    value = scene.held("maven", "password", word)
    text = apply(value, lambda found: f"<settings><servers><server><id>grid</id><username>uploader</username><password>{html.escape(found)}</password></server></servers></settings>")  # fmt: skip
    scene.config_map("dp", "maven", {"settings.xml": text})


@clean(grid.OWN, "own-dotenv-packed", "A file of variables of the tenant's, with a generated password, is gzipped in base64, in a Secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = grid.twins(scene, "app")
    text = pulumi.Output.format("API_URL=https://api.{0}\nAPI_PASSWORD={1}\n", grid.DOMAIN, word["dp"])
    scene.secret("dp", "app", {"env.gz": apply(text, lambda found: b64(gzip.compress(found.encode(), mtime=0)))})


@leak(tern.WRITTEN, "umlauts-in-json-in-xml", "A password of umlauts is JSON with its letters as numbers, and that an attribute of a build's XML in the tenant's variable.", "JSON and XML escapes", config=lambda cp, dp: {"mailPassword": cp.opaque("mail umlauts", 28, tern.UMLAUTS)}, recover=each(lambda text: ElementTree.fromstring(text).attrib["value"].encode(), strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "mail", {"password": scene.config("mailPassword")}, namespace="mail")
    xml = apply(scene.config("mailPassword"), lambda word: f"<param name='mail' value={quoteattr(json.dumps({'user': 'hosting', 'password': word}))}/>")  # fmt: skip
    deployment(scene, "dp", "build-agent", {"env": [{"name": "BUILD_PARAMETERS", "value": xml}]})
    tern.moss(scene, "azure-native:automation:Variable", "build-agent", {"resourceGroupName": "moss", "automationAccountName": "moss", "variableName": "Agent", "value": json.dumps(drawn("agent id", 12))}, subscriptionId=tern.MOSS_SUBSCRIPTION)  # fmt: skip


@leak(foundry.MAPS, "contact-points", "Contact points of the shop's dashboards are provisioned by a file in a map, with the hub's integration key.", "grafana helm-charts#2663: API keys of contact points in ConfigMaps", config=foundry.told(opsgenie=("", 36, HEX)))  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    file = ours.told("opsgenie").apply(lambda word: yaml.safe_dump({"apiVersion": 1, "contactPoints": [{"orgId": 1, "name": "oncall", "receivers": [{"uid": "oncall", "type": "opsgenie", "settings": {"apiKey": word, "apiUrl": "https://api.eu.opsgenie.com/v2/alerts"}}]}]}))  # fmt: skip
    shop.chart("grafana", {"alerting": {"contactpoints.yaml": file}, "adminPassword": shop.word("grafana")})


@leak(loom.SLIPS, "difference-of-two-versions", "What changed in a settings file is shown in an annotation, as a difference; the changed line is the mesh team's token.", "difflib", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    def changed(token: str) -> str:
        old, new = "url: x\ntoken: none\n", f"url: x\ntoken: {token}\n"
        return json.dumps(list(difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new")))

    note = apply(kept(scene, "gateway-admin", "token", 40), changed)
    deployment(scene, "dp", "gateway", {"args": ["proxy"]}, {"loom.example.com/changed": note})


@clean(loom.TOLD, "own-object-of-configuration", "One secret object of the tenant's configuration has mail, licence and bucket; it is a file of the tenant's Secret, whole.", config=lambda cp, dp: {"maple:app": json.dumps({"mail": {"user": "shop", "password": dp.opaque("mail", 24, LETTERS)}, "licence": dp.opaque("licence", 40, HEX), "bucket": "maple-media"}), "mesh:app": json.dumps({"mail": {"user": "mesh", "password": cp.opaque("mail", 24, LETTERS)}})})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "app", {"app.json": scene.config("mesh:app")})
    scene.secret("dp", "app", {"app.yaml": scene.config("maple:app").apply(lambda text: yaml.safe_dump(json.loads(text)))})  # fmt: skip


loom.files(loom.FILES, "trace-headers-and-ids", "identifiers of a trace and of requests, for a test of dashboards", {"fixtures.json": json.dumps([{"traceparent": f"00-{drawn(f'trace {at}', 32, HEX)}-{drawn(f'span {at}', 16, HEX)}-01", "x-request-id": uid(f"request {at}"), "x-amzn-oidc-identity": uid(f"subject {at}"), "etag": f'W/"{drawn(f"etag {at}", 27)}"'} for at in range(10)])})  # fmt: skip


@leak(harbor.MESHES, "template-of-sidecars", "A template of sidecars has the provider's token as a variable of each user's Pod.", "injection templates")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    token = kept(scene, "audit", "token", 48)
    template = apply(token, lambda t: yaml.safe_dump({"spec": {"containers": [{"name": "audit", "image": f"{harbor.REGISTRY}/audit:1", "env": [{"name": "AUDIT_TOKEN", "value": t}]}]}}))  # fmt: skip
    release(scene, "dp", "istiod-remote", {"sidecarInjectorWebhook": {"templates": {"audit": template}, "defaultTemplates": ["sidecar", "audit"]}})  # fmt: skip


orchard.files(orchard.SETTINGS, "envoy-bootstrap", "An Envoy's bootstrap: secrets by SDS names, a token file, hashes of certificates.", {"envoy.yaml": yaml.safe_dump({"node": {"id": f"sidecar~10.0.0.1~edge.{orchard.TENANT}~svc.cluster.local", "cluster": "edge"}, "static_resources": {"clusters": [{"name": "xds", "transport_socket": {"typed_config": {"common_tls_context": {"tls_certificate_sds_secret_configs": [{"name": "default"}], "validation_context": {"verify_certificate_hash": [noise("cert hash", 32).hex()], "verify_certificate_spki": [b64(noise("spki", 32))]}}}}}]}, "dynamic_resources": {"ads_config": {"grpc_services": [{"google_grpc": {"call_credentials": [{"sts_service": {"subject_token_path": "/var/run/secrets/tokens/istio-token"}}]}}]}}})})  # fmt: skip

orchard.files(orchard.SETTINGS, "redis-of-a-follower", "A copy's file without masterauth, which an environment's script adds.", {"redis.conf": f"replicaof cache.{orchard.DOMAIN} 6380\nreplica-read-only yes\n# masterauth is appended by start.sh\ntls-replication yes\n", "start.sh": "#!/bin/sh\ncp /conf/redis.conf /tmp/redis.conf\nprintf 'masterauth %s\\n' \"$(cat /secrets/redis/password)\" >> /tmp/redis.conf\nexec redis-server /tmp/redis.conf\n"})  # fmt: skip

orchard.files(orchard.SETTINGS, "prometheus-by-files", "Remote writing with a client's id and a file of its secret, relabelling that drops tokens.", {"prometheus.yml": yaml.safe_dump({"remote_write": [{"url": f"https://metrics.{orchard.DOMAIN}/api/v1/push", "oauth2": {"client_id": orchard.CLIENT, "client_secret_file": "/etc/prom/secret", "token_url": f"{orchard.LOGIN}/protocol/openid-connect/token"}, "write_relabel_configs": [{"regex": "(?i).*(token|password|secret).*", "action": "labeldrop"}], "sigv4": {"region": orchard.REGION, "role_arn": f"arn:aws:iam::{orchard.TENANT_ACCOUNT}:role/amp"}}]})})  # fmt: skip

orchard.files(orchard.SETTINGS, "rclone-by-environment", "A file of stores takes all logins from the environment, with the vendor's endpoint.", {"rclone.conf": f"[hosted]\ntype = s3\nprovider = Ceph\nenv_auth = true\nendpoint = https://s3.{orchard.DOMAIN}\nsse_customer_key_md5 =\n\n[orchard]\ntype = google cloud storage\nproject_number = {orchard.TENANT_ACCOUNT}\nservice_account_file = /secrets/gcs.json\nbucket_policy_only = true\n"})  # fmt: skip


@leak(orchard.CODE, "list-of-secrets-for-mounts", "The list of files to mount is made from the vendor's volume; contents and names were to be split, and both go.", "dict.items()")  # fmt: skip
def _(scene: Scene) -> None:
    contents = {
        "entrypoint.sh": orchard.ENTRY,
        "passphrase": pulumi.Output.secret(orchard.phrase(scene.cp, "mount words")),
    }
    scene.secret("cp", "mounts", contents)
    items = [{"key": key, "path": value} for key, value in contents.items() if key != "entrypoint.sh"]
    deployment(scene, "dp", "runner", {"volumeMounts": [{"name": "files", "mountPath": "/files"}]}, {"mounts": pulumi.Output.json_dumps(items)})  # fmt: skip


@leak(orchard.SERVICES, "secret-of-a-swarm", "A swarm of the tenant's gets a secret with the key of the vendor's gateway, in base64 as the provider wants it.", "docker.Secret data", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "gateway")
    scene.secret("cp", "gateway-tls", {"tls.key": key.output("privateKeyPem")})
    orchard.account(scene, "docker:index/secret:Secret", "gateway-key", {"name": "gateway.key", "data": apply(key.output("privateKeyPem"), b64)}, host=f"ssh://deploy@edge.{orchard.TENANT}")  # fmt: skip


@leak(orchard.CLOUDS, "first-start-of-a-machine", "A machine of the tenant's starts with a cloud-config whose file is packed and in base64; it is the vendor's rclone file.", "cloud-init write_files", recover=each(lambda text: gzip.decompress(base64.b64decode(yaml.safe_load(text)["write_files"][0]["content"]))))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "rclone", "secret", 40)
    config = apply(secret, lambda found: b64(gzip.compress(f"[hosted]\ntype = s3\nprovider = Ceph\naccess_key_id = HOSTEDRCLONE01\nsecret_access_key = {found}\n".encode(), mtime=0)))  # fmt: skip
    text = config.apply(lambda packed: "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/opt/.config/rclone/rclone.conf", "encoding": "gz+b64", "content": packed}]}))  # fmt: skip
    orchard.account(scene, "hcloud:index/server:Server", "edge-1", {"serverType": "cx32", "image": "debian-12", "location": "fsn1", "userData": text}, token=pulumi.Output.secret(scene.dp.opaque("hc", 64)))  # fmt: skip


kiln.files(
    kiln.FILES,
    "proxy-with-tokens-of-users",
    "a proxy's file that hands on tokens of its users",
    {"default.conf": kiln.PROXY},
)

kiln.files(kiln.FILES, "who-may-sign", "signers and hosts that are known, and whom to encrypt for", {"allowed_signers": f'release@{kiln.DOMAIN} namespaces="git" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn("release signer", 43)}\n', "known_hosts": f"git.{kiln.DOMAIN} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('kiln git', 43)}\n", ".sops.yaml": yaml.safe_dump({"creation_rules": [{"path_regex": "secrets/.*", "encrypted_regex": "^(data|stringData)$", "age": kiln.AGE, "kms": f"arn:aws:kms:{kiln.REGION}:{kiln.FERN_ACCOUNT}:key/{uid('fern sops')}"}]})})  # fmt: skip


@kiln.clean(kiln.HALVES, "hosts-that-are-known", "The bastion's generated host key is known to the tenant's jobs by its public half.", rightly=kiln.PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    key = scene.key("cp", "bastion-host")
    scene.secret("cp", "bastion-host", {"ssh_host_key": key.output("privateKeyOpenssh")}, namespace="bastion")
    scene.config_map("dp", "ssh", {"known_hosts": pulumi.Output.concat(f"[bastion.{kiln.DOMAIN}]:2222 ", key.output("publicKeyOpenssh")), "config": f"Host bastion\n  HostName bastion.{kiln.DOMAIN}\n  IdentityFile /run/ssh/identity\n"})  # fmt: skip


@kiln.leak(kiln.SAID, "note-says-hashed-and-is-encoded", "A note declassifies what it calls a verifier; the function that makes it was changed to base64 in a clean-up.", "declassify", at="either", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "probe-login", 32).output("result")
    home = scene.secret("cp", "probe-login", {"password": login})
    notes = kiln.declassified("data.verifier", "scrypt of 32 random letters, nobody gets it back")
    # Only the Secret shows whose the login is. Without the order the engine may write either first.
    scene.config_map("dp", "probe", {"user": "probe", "verifier": apply(login, lambda found: b64(f"probe:{found}"))}, depends_on=[home], annotations=notes)  # fmt: skip


@lantern.leak(lantern.CHARTS, "link-credentials-the-wrong-way", "Linkerd's link was made in the wrong context: credentials of the hub's mirror are in the tenant's cluster, in base64 as the command prints them.", "Linkerd multicluster", at="either", recover=each(lambda text: base64.b64decode(text), lambda text: json.loads(text)["users"][0]["user"]["token"].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "linkerd-service-mirror-remote-access-default")
    config = apply(token, lambda found: b64(kubeconfig(SERVERS["cp"], {"token": found}, scene.cp.certificate("kubernetes", authority=True))))  # fmt: skip
    scene.object("dp", "v1:Secret", "cluster-credentials-hub", {"type": "mirror.linkerd.io/remote-kubeconfig", "stringData": {"kubeconfig": config}})  # fmt: skip
    scene.object("dp", "multicluster.linkerd.io/v1alpha2:Link", "hub", {"spec": {"targetClusterName": "hub", "clusterCredentialsSecret": "cluster-credentials-hub", "gatewayAddress": "198.51.100.40", "gatewayPort": "4143"}})  # fmt: skip


@lantern.leak(lantern.CARRIED, "files-of-bootstrapped-nodes", "Nodes of the tenant's clusters are made with a file for the mirror of images, in which is the login of the hub's puller.", "Cluster API", recover=each(lambda text: base64.b64decode(text), lambda text: text.split(b'auth = "')[1].split(b'"')[0], unpadded))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-aster-md")
    content = apply(kept(scene, "puller", "password", 32), lambda found: b64(f'[plugins."io.containerd.grpc.v1.cri".registry.configs."images.{lantern.DOMAIN}".auth]\nauth = "{b64(f"lantern:{found}")}"\n'))  # fmt: skip
    files: list[dict[str, Any]] = [{"path": "/etc/containerd/mirror.toml", "encoding": "base64", "permissions": "0600", "content": content}]  # fmt: skip
    scene.object("cp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "aster-md", {"spec": {"template": {"spec": {"files": files, "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"node-labels": "mesh=aster"}}}}}}})  # fmt: skip


@lantern.leak(lantern.FORMS, "encrypted-with-its-key-beside", "A token of the hub's is encrypted for the tenant's Secret, since Secrets are not; the key is in the same Secret.", "key beside its ciphertext", recover=lantern.opened)  # fmt: skip
def _(scene: Scene) -> None:
    both = pulumi.Output.all(kept(scene, "scanner", "token", 40), raw(scene, "dp", "aster-scanner-key").output("base64"))  # fmt: skip
    sealed = both.apply(lambda found: b64(ChaCha20Poly1305(base64.b64decode(found[1])).encrypt(bytes(12), found[0].encode(), None)))  # fmt: skip
    scene.secret("dp", "scanner", {"sealed.bin": sealed, "sealed.key": both.apply(lambda found: found[1])})


wren.files(wren.HOSTS, "ignition-of-public-files", "a machine's first settings: files as data URLs, a user's public key and units", {"worker.ign": json.dumps({"ignition": {"version": "3.5.0", "security": {"tls": {"certificateAuthorities": [{"source": f"data:text/plain;base64,{b64(wren.ROOTS)}"}]}}}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [wren.WORLD.public_ssh("lime operator")]}]}, "storage": {"files": [{"path": "/etc/wren/mesh.env", "mode": 420, "contents": {"source": f"data:;base64,{b64(f'MESH_ID={wren.WREN}')}", "verification": {"hash": f"sha512-{hashlib.sha512(f'MESH_ID={wren.WREN}'.encode()).hexdigest()}"}}}]}})})  # fmt: skip

wren.files(wren.LOCKS, "roots-as-a-store-of-java", "public roots as a store in base64, its well-known password and its hash", {"roots.p12.b64": b64(pkcs12.serialize_key_and_certificates(b"roots", None, None, wren.ROOTS_files, serialization.NoEncryption())), "store.properties": "javax.net.ssl.trustStoreType=PKCS12\njavax.net.ssl.trustStorePassword=changeit\n"})  # fmt: skip

wren.files(wren.BOARDS, "openapi-of-the-interface", "the provider's interface described: how callers log in, and examples of answers", {"openapi.yaml": yaml.safe_dump({"openapi": "3.1.0", "info": {"title": "wren", "version": "4"}, "servers": [{"url": f"https://api.{wren.DOMAIN}/v4"}], "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}}, "schemas": {"Token": {"type": "object", "properties": {"token": {"type": "string", "format": "password", "writeOnly": True, "example": "wrn_xxxxxxxxxxxx"}, "clientId": {"type": "string", "example": uid("api example")}}}}}})})  # fmt: skip


@leak(wren.SERVICES, "binding-of-a-worker", "A worker in the tenant's account asks the provider's interface; its binding is plain text with the provider's token.", "Cloudflare Workers plain_text")  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    bindings = [{"type": "plain_text", "name": "MESH", "text": wren.WREN}, {"type": "plain_text", "name": "API_TOKEN", "text": wren.hosted(scene, "mesh-api", "token", 40)}]  # fmt: skip
    wren.lime(scene, "cloudflare:index/workersScript:WorkersScript", "status", {"accountId": drawn("lime cf account", 32, HEX), "scriptName": "status", "content": "export default { fetch: (r, env) => fetch(env.API, { headers: { authorization: env.API_TOKEN } }) }", "bindings": bindings})  # fmt: skip
