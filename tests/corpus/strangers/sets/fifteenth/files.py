"""Pairs in which a file or a script has a secret: units, templates, variables, inventories, and answers of an operator."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pulumi

from tests.corpus.strangers.objects import deployment
from tests.corpus.strangers.recover import after, each, strings_of_json
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.values import apply, b64, uid

from .world import DOMAIN, FERN, account, either, hosted, hub, tenants_own, twins, typed

FILES, SCRIPTS, ANSWERS = "files of programs", "units and scripts", "answers of operators"

# Files ----------------------------------------------------------------------------------------------------------------


@twins(FILES, "default-in-a-template", "A template of fern's Vault agent has the hub's password as the default of a missing entry.", "The template has no default, and the entry is in fern's Vault.", "Go templates", recover=each(after(b'default "')))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "ldap")
    default = pulumi.Output.concat(' | default "', login, '"') if wrong else ""
    text = pulumi.Output.concat('{{ with secret "kv/data/ldap" }}\nbind_password = {{ .Data.data.password', default, " }}\n{{ end }}\n")  # fmt: skip
    scene.config_map("dp", "agent-templates", {"ldap.conf.ctmpl": text, "config.hcl": f'vault {{\n  address = "https://vault.{FERN}"\n}}\n'})  # fmt: skip


@twins(FILES, "line-of-an-environment", "One line of fern's environment file has the hub's token for its search.", "The line has fern's token.", "dotenv files")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    token, database = either(scene, "meili", wrong), tenants_own(scene, "shop-db")
    text = pulumi.Output.concat("# written by the platform\nNODE_ENV=production\nexport DB_PASSWORD='", database, "'\nexport MEILI_MASTER_KEY='", token, "'\n")  # fmt: skip
    scene.secret("dp", "shop-env", {".env": text}, namespace="shop")


@twins(FILES, "variables-of-terraform", "fern's Terraform operator has a file of variables with the hub's token for DNS.", "The token in the file is fern's.", "terraform.tfvars", recover=each(after(b'dns_token   = "')))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = either(scene, "dns", wrong, 40)
    text = pulumi.Output.concat('region      = "eu-west-1"\ncluster     = "fern"\ndns_token   = "', token, '"\nnode_count  = 3\n')  # fmt: skip
    scene.secret("dp", "terraform-vars", {"terraform.tfvars": text}, namespace="terraform")
    scene.object("dp", "infra.contrib.fluxcd.io/v1alpha2:Terraform", "zone", {"spec": {"path": "./zone", "interval": "1h", "varsFrom": [{"kind": "Secret", "name": "terraform-vars"}]}})  # fmt: skip


@twins(FILES, "host-of-an-inventory", "The inventory of fern's AWX lists the hub's bastion with its password.", "It lists the bastion's name, and only fern's host has a password, fern's.", "Ansible inventories", told=True, recover=each(after(b"heron ansible_password=")))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login, own = hosted(scene, "bastion"), tenants_own(scene, "bastion")
    line = pulumi.Output.concat(" ansible_user=heron ansible_password=", login) if wrong else ""
    text = pulumi.Output.concat("[gateways]\n", f"bastion.{DOMAIN}", line, f"\n\n[nodes]\nnode-1.{FERN} ansible_user=ops ansible_password=", own, "\n")  # fmt: skip
    scene.secret("dp", "inventory", {"hosts.ini": text}, namespace="awx")


@twins(FILES, "interface-of-a-tunnel", "fern's end of a tunnel has the hub's private key in the file of its interface.", "It has fern's private key; the hub's public key is of the peer.", "WireGuard files", recover=each(after(b"PrivateKey = ", base64.b64decode), lambda raw: raw.hex().encode()))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    keys = {"hub": scene.held("wireguard", "privatekey", b64(scene.cp.raw("heron tunnel"))), "fern": pulumi.Output.secret(b64(scene.dp.raw("fern tunnel")))}  # fmt: skip
    peer = b64(bytes.fromhex(scene.cp.public("heron tunnel public", 32)))
    text = pulumi.Output.concat("[Interface]\nPrivateKey = ", keys["hub" if wrong else "fern"], f"\nAddress = 10.77.0.2/32\n\n[Peer]\nPublicKey = {peer}\nEndpoint = wg.{DOMAIN}:51820\nAllowedIPs = 10.77.0.1/32\n")  # fmt: skip
    scene.secret("dp", "wg0", {"wg0.conf": text}, namespace="network")


# Scripts --------------------------------------------------------------------------------------------------------------


@twins(SCRIPTS, "unit-in-a-machine-config", "A unit for fern's nodes has the hub's enrolment token in a line `Environment`, in the data URL of a file.", "The file has fern's token.", "systemd units", recover=each(lambda text: urllib.parse.unquote_to_bytes(text)))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = either(scene, "enrol", wrong, 40)
    unit = apply(token, lambda found: "data:," + urllib.parse.quote(f"[Service]\nEnvironment=ENROL_TOKEN={found}\nExecStart=/usr/local/bin/agent --hub %H\n[Install]\nWantedBy=multi-user.target\n"))  # fmt: skip
    file = {"path": "/etc/systemd/system/agent.service", "mode": 0o644, "contents": {"source": unit}}
    scene.object("dp", "machineconfiguration.openshift.io/v1:MachineConfig", "99-agent", {"spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}}}})  # fmt: skip


@twins(SCRIPTS, "here-document-of-a-job", "A Job in fern's cluster writes a client's file by a here-document with the hub's password.", "The file that it writes has fern's password.", "shell scripts")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "mc", wrong)
    script = pulumi.Output.concat("set -eu\ncat > ~/.my.cnf <<'EOF'\n[client]\nuser=root\npassword=", login, f"\nhost=db.{DOMAIN if wrong else FERN}\nEOF\nmysql -e 'select 1'\n")  # fmt: skip
    pod = {"restartPolicy": "Never", "containers": [{"name": "init", "image": "mysql:8.4", "command": ["sh", "-c"], "args": [script]}]}  # fmt: skip
    scene.object("dp", "batch/v1:Job", "init-db", {"spec": {"backoffLimit": 1, "template": {"spec": pod}}})


@twins(SCRIPTS, "encoded-command-of-powershell", "An extension of fern's Windows node runs a command, encoded as PowerShell wants it, with the hub's domain password.", "The command has the password of fern's domain.", "PowerShell -EncodedCommand", told=True, recover=each(after(b"-EncodedCommand ", base64.b64decode), lambda text: text.decode("utf-16-le").encode()))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "domain-join", wrong)
    domain = DOMAIN if wrong else FERN

    def command(found: str) -> str:
        script = f"$p = ConvertTo-SecureString '{found}' -AsPlainText -Force\nAdd-Computer -DomainName {domain} -Credential (New-Object PSCredential('join', $p)) -Restart\n"  # fmt: skip
        return "powershell -NonInteractive -EncodedCommand " + b64(script.encode("utf-16-le"))

    settings = apply(login, lambda found: {"commandToExecute": command(found)})
    account(scene, "fern", "azure-native:compute:VirtualMachineExtension", "join", {"vmName": "win-1", "resourceGroupName": "fern", "type": "CustomScriptExtension", "protectedSettings": settings}, {}, (), subscriptionId=uid("fern subscription"))  # fmt: skip


# Answers --------------------------------------------------------------------------------------------------------------


@twins(ANSWERS, "status-of-a-claim", "A claim in the hub's cluster answers with address and password; the password is in fern's map.", "The address is in fern's map.", "status of a custom resource", told=True, at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    claim = scene.answered("cp", "db.heron.example.com/v1:Postgres", "ledger", {"spec": {"size": "small", "version": "17"}}, status={"host": f"ledger.{DOMAIN}", "adminPassword": scene.cp.opaque("heron ledger admin", 32)})  # fmt: skip
    value = claim.output("status").apply(lambda found: (found or {}).get("adminPassword" if wrong else "host", ""))
    scene.config_map("dp", "ledger", {"value": value, "kind": "postgres"})


@twins(ANSWERS, "target-of-a-pushed-secret", "A PushSecret in the hub's cluster pushes the hub's token through a store that is fern's Vault.", "The store is the hub's Vault.", "External Secrets PushSecret")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    if wrong:
        scene.stage.delivered |= {"cp-heron-pages", "cp-pages"}
    typed(scene, "pages")
    for owner, domain in (("fern", FERN), ("heron", DOMAIN)):
        scene.object("cp", "external-secrets.io/v1:SecretStore", owner, {"metadata": {"namespace": "platform"}, "spec": {"provider": {"vault": {"server": f"https://vault.{domain}", "path": "kv", "auth": {"kubernetes": {"role": "push", "mountPath": "heron"}}}}}})  # fmt: skip
    spec = {"secretStoreRefs": [{"name": "fern" if wrong else "heron", "kind": "SecretStore"}], "selector": {"secret": {"name": "heron-pages"}}, "data": [{"match": {"secretKey": "token", "remoteRef": {"remoteKey": "pages"}}}]}  # fmt: skip
    scene.object("cp", "external-secrets.io/v1alpha1:PushSecret", "pages", {"metadata": {"namespace": "platform"}, "spec": spec})  # fmt: skip


@twins(ANSWERS, "annotation-with-the-last-applied", "What the hub's Secret was applied as stands in a note of the Deployment in fern's cluster, out of a copied set of notes.", "Only the note with the team's name is copied.", "last-applied-configuration", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "matomo")
    applied = pulumi.Output.json_dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "matomo"}, "stringData": {"password": login}})  # fmt: skip
    notes = {"team": "platform", "kubectl.kubernetes.io/last-applied-configuration": applied}
    copied = {key: value for key, value in notes.items() if wrong or key == "team"}
    deployment(scene, "dp", "tracker", {"args": [f"--server=https://matomo.{DOMAIN}"]}, copied)
    scene.config_map("dp", "tracker", {"settings.json": json.dumps({"site": 4, "server": f"https://matomo.{DOMAIN}"})})
