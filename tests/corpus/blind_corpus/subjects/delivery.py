"""Programs about delivery: leaks, and harmless neighbours."""

from __future__ import annotations

import base64
import textwrap
import urllib.parse
from typing import Any

import pulumi

from tests.corpus.blind_corpus.credentials import generated, kept, minted
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import cloud, deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, apply, b64, drawn, kubeconfig, pull_secret
from tests.corpus.blind_corpus.worlds import foundry, grid, harbor, kiln, loom, osprey, quarry, tern, wren


@leak(grid.SERVICES, "secret-of-a-repositorys-environment", "An environment of the tenant's repository gets a kubeconfig in base64: the platform's, which the function takes by default.", "GitHub Actions secrets", recover=each(lambda text: strings_of_yaml(base64.b64decode(text))))  # fmt: skip
def _(scene: Scene) -> None:
    def config(side: str = "cp") -> Any:
        return pulumi.Output.secret(scene.kubeconfigs[side]).apply(b64)

    grid.core(scene)
    inputs = {"repository": "birch/shop", "environment": "production", "secretName": "KUBECONFIG_B64", "plaintextValue": config()}  # fmt: skip
    grid.birch(
        scene, "github:index/actionsEnvironmentSecret:ActionsEnvironmentSecret", "kubeconfig", inputs, owner="birch"
    )


@leak(grid.SERVICES, "command-on-the-tenants-host", "A command runs over SSH on the tenant's host; its variables are those of the platform's deployer.", "command.remote", config=lambda cp, dp: {"deployer": cp.opaque("deployer", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "deployer", {"AWS_SECRET_ACCESS_KEY": scene.config("deployer"), "AWS_ACCESS_KEY_ID": f"AKIA{drawn('deployer', 16, AWS_ID)}"})  # fmt: skip
    inputs = {"connection": {"host": f"edge.{grid.BIRCH}", "user": "birch"}, "create": "aws s3 sync s3://grid-edge /srv/edge", "environment": {"AWS_SECRET_ACCESS_KEY": scene.config("deployer")}}  # fmt: skip
    scene.made("command:remote:Command", "sync", inputs)


@clean(grid.WIRING, "public-half-of-a-deploy-key", "The platform's deploy key has its public half at the tenant's forge and in a map.", rightly=grid.PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    key = scene.key("cp", "grid-reader")
    scene.secret("cp", "grid-reader", {"identity": key.output("privateKeyOpenssh")})
    grid.birch(scene, "github:index/repositoryDeployKey:RepositoryDeployKey", "grid-reader-key", {"repository": "shop", "title": "grid", "key": key.output("publicKeyOpenssh")}, owner="birch")  # fmt: skip
    scene.config_map("dp", "readers", {"authorized_keys": key.output("publicKeyOpenssh")})


@clean(grid.CLOUDS, "command-with-a-public-answer", "A command on the deployer's machine asks the platform's interface with a token; its answer is a version, which the tenant gets.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    inputs = {"create": f"curl -fsS -H \"Authorization: Bearer $TOKEN\" https://api.{grid.DOMAIN}/version", "environment": {"TOKEN": generated(scene, "asks", "token", 40)}}  # fmt: skip
    made = scene.made("command:local:Command", "version", inputs, None, {"stdout": "7.14.2"}, owner="cp")
    release(scene, "dp", "agent", {"image": {"tag": pulumi.Output.unsecret(made.output("stdout"))}})


@clean(tern.MADE, "image-that-was-built-and-pushed", "An image is pushed with the provider's login; the tenant runs it by its digest, with a note of the build's reference.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = tern.ours(scene, "registry-push", namespace="ci")
    made = cloud(scene, "docker-build:index:Image", "agent", {"tags": [f"registry.{tern.DOMAIN}/agent:3"], "push": True, "registries": [{"address": f"registry.{tern.DOMAIN}", "username": "ci", "password": login}]}, {"ref": f"registry.{tern.DOMAIN}/agent:3@{tern.digest('agent')}", "digest": tern.digest("agent")})  # fmt: skip
    deployment(scene, "dp", "agent", {"image": made.output("ref"), "args": ["--status-port=8081"]}, {"tern.example.com/digest": made.output("digest")})  # fmt: skip


@leak(foundry.CHARTS, "deploy-key-of-the-platform", "Argo CD at the shop shares the hub's template of credentials for all repositories of the organisation.", "argo-cd chart: configs.credentialTemplates")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    key = ours.key("org-templates")
    templates = {"acme": {"url": f"git@git.{foundry.ZONE}:acme", "sshPrivateKey": key.output("privateKeyOpenssh")}}
    for at in (ours, shop):
        at.chart("argo-cd", {"global": {"domain": f"argocd.{at.domain}"}, "configs": {"credentialTemplates": templates, "secret": {"argocdServerAdminPassword": at.hashed("argocd-admin")}}})  # fmt: skip


@clean(osprey.NAMED, "fact-name-of-a-secret-object", "The hub's Secret answers its name and its revision; a note of the tenant's Deployment has the revision.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = osprey.hosted(scene, "ingest")
    secret = scene.secret("cp", "ingest-login", {"password": word}, namespace="platform")
    revision = apply(secret.output("metadata"), lambda found: (found or {}).get("name", ""))
    deployment(scene, "dp", "ingest", {"args": ["--follow"]}, {"osprey.example.com/login": revision})


@leak(osprey.BUILDS, "key-of-the-app-for-all-runners", "Runners in the tenant's cluster need a Secret in their namespace; it has the private key of the provider's GitHub App, which is one for all organisations.", "actions/actions-runner-controller#2593")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("github-app", "privateKey", scene.cp.rsa("github app"), namespace="arc-systems")
    values = {"githubConfigUrl": "https://github.com/alder", "githubConfigSecret": {"github_app_id": "771203", "github_app_installation_id": "48811902", "github_app_private_key": key}, "minRunners": 0, "maxRunners": 8}  # fmt: skip
    release(scene, "dp", "gha-runner-scale-set", values)


@leak(osprey.BUILDS, "pull-by-the-robot-that-pushes", "A helper makes the pull Secret of each namespace in both clusters, by the robot with which the provider's builds push.", "registry pull secrets", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    login = pull_secret(f"registry.{osprey.DOMAIN}", "robot$builds", osprey.hosted(scene, "robot-builds"))
    for side, names in {"cp": ["platform", "mesh-alder"], "dp": ["shop", "search"]}.items():
        for name in names:
            scene.secret(side, f"pull-{name}", {".dockerconfigjson": login}, "kubernetes.io/dockerconfigjson", namespace=name)  # fmt: skip


@leak(loom.CLOUDS, "arguments-of-a-data-job", "A data job of the tenant's has default arguments; an address with a login is one, in percent signs.", "AWS Glue", recover=each(lambda text: urllib.parse.unquote(text.decode()).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    value = scene.cp.opaque("glue", 16) + "@:/" + scene.cp.opaque("glue 2", 16)
    scene.cp.given.append(value)
    held = scene.held("glue", "password", value)
    url = apply(held, lambda found: f"jdbc:postgresql://db.{loom.DOMAIN}/usage?user=etl&password={urllib.parse.quote(found, safe='')}")  # fmt: skip
    loom.maple(scene, "aws:glue/job:Job", "usage-job", {"roleArn": f"arn:aws:iam::{loom.MAPLE_ACCOUNT}:role/glue", "command": {"scriptLocation": "s3://maple-jobs/usage.py"}, "defaultArguments": {"--source": url, "--job-language": "python"}}, region=loom.REGION)  # fmt: skip


@clean(loom.GENERATED, "own-account-token-for-a-pipeline", "The tenant's cluster mints a token for its pipeline; the tenant's repository gets a kubeconfig of it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom.loom(scene)
    config = minted(scene, "dp", "pipeline").apply(lambda token: kubeconfig(SERVERS["dp"], {"token": token}, "dp"))
    loom.maple(scene, "github:index/actionsSecret:ActionsSecret", "kubeconfig", {"repository": "shop", "secretName": "KUBECONFIG", "plaintextValue": config}, owner="maple")  # fmt: skip


@clean(loom.HOME, "home-command-with-a-token", "A command on the deployer's machine registers the tenant by the mesh team's token; the tenant gets the number that it answers.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"create": "loomctl tenants create maple --output id", "delete": "loomctl tenants delete maple", "environment": {"LOOM_TOKEN": loom.house(scene, "registrar", "token", 40), "LOOM_API": f"https://api.{loom.DOMAIN}"}}  # fmt: skip
    made = scene.made("command:local:Command", "register-maple", inputs, None, {"stdout": "t-7f3a91"}, owner="cp")
    scene.config_map("dp", "tenant", {"id": pulumi.Output.unsecret(made.output("stdout")), "mesh": loom.LOOM})


@leak(harbor.STORES, "dump-job", "A nightly job at the user's dumps the provider's database; its login is in the command line.", "credentials in arguments")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    value = kept(scene, "reporting", "password", 28)
    line = pulumi.Output.concat(
        "pg_dump postgresql://reporting:", value, f"@db.{harbor.HUB}/billing | gzip > /out/billing.gz"
    )
    pod = {"restartPolicy": "OnFailure", "containers": [{"name": "dump", "image": "postgres:16", "command": ["sh", "-c", line]}]}  # fmt: skip
    scene.object("dp", "batch/v1:CronJob", "dump", {"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}})  # fmt: skip


@leak(quarry.USED, "private-half-as-a-deploy-key", "Flux of the hub reads a repository of birch's by a deploy key; the variable with the private half was given to the forge.", "GitHub deploy keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-flux-birch")
    scene.secret("cp", "flux-birch", {"identity": key.output("privateKeyOpenssh")}, namespace="flux-system")
    quarry.account(scene, "birch", "github:index/repositoryDeployKey:RepositoryDeployKey", "flux", {"repository": "shop", "title": "quarry flux", "readOnly": True, "key": key.output("privateKeyOpenssh")}, organization="birch")  # fmt: skip


@kiln.leak(kiln.OBJECTS_leaks_places, "signing-key-of-commits", "Flux at the tenant's writes image tags into its repository, and signs commits with the team's own key.", "Flux ImageUpdateAutomation")  # fmt: skip
def _(scene: Scene) -> None:
    block = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + "\n".join(textwrap.wrap(b64(b"\x94\x58\x04" + scene.cp.raw("kiln gpg", 200)), 64)) + "\n-----END PGP PRIVATE KEY BLOCK-----\n"  # fmt: skip
    held = scene.held("commit-signer", "git.asc", scene.cp._give(block), namespace="flux-system")
    scene.secret("dp", "commit-signer", {"git.asc": held}, namespace="flux-system")


@kiln.leak(kiln.SAID, "owned-by-a-copied-note", "A Secret for the tenant's uploads was copied with its note; the key in it is the team's deploy key now.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("deploy-key", "identity", scene.cp.key("kiln deploy"), namespace="flux-system")
    scene.secret("dp", "uploads", {"ssh-privatekey": held}, annotations=kiln.owned("key of fern's own upload host, ticket 3301"))  # fmt: skip


@kiln.leak(kiln.SAID, "registry-login-on-the-tenants-docker-host", "The provider for containers on the tenant's host logs in at the team's registry, on that host, as the team's robot.", "Docker registryAuth")  # fmt: skip
def _(scene: Scene) -> None:
    login = [
        {"address": f"registry.{kiln.DOMAIN}", "username": "robot$kiln", "password": generated(scene, "host-robot")}
    ]
    kiln.account(scene, "fern", "docker:index/container:Container", "relay", {"image": f"registry.{kiln.DOMAIN}/relay:4", "restart": "always"}, host=f"ssh://ops@edge.{kiln.FERN}", registryAuth=login)  # fmt: skip


@kiln.clean(kiln.HOME, "home-token-of-the-teams-forge", "A token of the team's configuration is a secret of the team's repository, and its provider logs in by another; the tenant's repository has a variable.", config=lambda cp, dp: {"kiln:forge": "ghp_" + cp.opaque("kiln forge token", 36, LETTERS), "kiln:publish": cp.opaque("kiln publish", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    kiln.account(scene, "kiln", "github:index/actionsSecret:ActionsSecret", "publish", {"repository": "mesh", "secretName": "PUBLISH", "plaintextValue": scene.config("kiln:publish")}, organization="kiln", token=scene.config("kiln:forge"))  # fmt: skip
    kiln.account(scene, "fern", "github:index/actionsVariable:ActionsVariable", "mesh-id", {"repository": "shop", "variableName": "MESH_ID", "value": kiln.KILN}, organization="fern")  # fmt: skip


@clean(wren.FORGES, "own-deploy-key-of-its-repository", "The tenant's Flux reads the tenant's repository by a key made for it: half in the repository, half in the tenant's cluster.", config=wren.given(githubToken=40), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    key = scene.key("dp", "lime-flux")
    scene.made("github:index/repositoryDeployKey:RepositoryDeployKey", "own-flux", {"repository": "fleet", "title": "flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, scene.package("github", "lime-github", token=scene.config("lime:githubToken")))  # fmt: skip
    scene.secret("dp", "flux-system", {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh"), "known_hosts": f"github.com {scene.dp.public_ssh('github host')}"}, namespace="flux-system")  # fmt: skip
