"""Programs about clouds: leaks, and harmless neighbours."""

from __future__ import annotations

import json

import pulumi
import yaml

from tests.corpus.blind_corpus.credentials import kept
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import cloud, deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import each, strings_of_json
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, drawn, uid
from tests.corpus.blind_corpus.worlds import foundry, grid, harbor, heron, kiln, loom, orchard
from tests.corpus.world import Box


@leak(grid.ACCOUNTS, "startup-script-of-a-machine", "A machine in the tenant's project has a start script in its metadata, which clones with the platform's token.", "GCE metadata")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "clone", "token", 38)
    script = pulumi.Output.format("#!/bin/bash\ngit clone https://x-access-token:{0}@git.{1}/grid/edge.git /opt/edge\n/opt/edge/install.sh\n", token, grid.DOMAIN)  # fmt: skip
    grid.birch(scene, "gcp:compute/instance:Instance", "edge", {"machineType": "e2-small", "zone": "europe-north1-a", "metadata": {"startup-script": script, "enable-oslogin": "TRUE"}}, project=grid.BIRCH_PROJECT)  # fmt: skip


grid.plain(grid.OBJECTS_objects, "store-by-workload-identity", "a SecretStore that logs in by a service account at the tenant's project", "external-secrets.io/v1:SecretStore", {"spec": {"provider": {"gcpsm": {"projectID": grid.BIRCH_PROJECT, "auth": {"workloadIdentity": {"clusterLocation": "europe-north1", "clusterName": "birch", "serviceAccountRef": {"name": "eso"}}}}}}})  # fmt: skip


@clean(grid.ACCOUNTS_own, "own-key-of-a-cloud", "A key made in the tenant's account is in the tenant's cluster and repository; the platform's is in the platform's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    ours = cloud(scene, "aws:iam/accessKey:AccessKey", "grid-key", {"user": "grid"}, {"secret": scene.cp.opaque("grid key", 40, LETTERS)}, ["secret"])  # fmt: skip
    scene.secret("cp", "aws", {"secret": ours.output("secret")})
    theirs = grid.birch(scene, "aws:iam/accessKey:AccessKey", "birch-key", {"user": "birch"}, {"secret": scene.dp.opaque("birch key", 40, LETTERS), "keyId": f"AKIA{drawn('birch key', 16, AWS_ID)}"}, ["secret"], region=grid.REGION)  # fmt: skip
    scene.secret("dp", "aws", {"credentials": pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", theirs.output("keyId"), theirs.output("secret"))})  # fmt: skip
    grid.birch(scene, "github:index/actionsSecret:ActionsSecret", "aws", {"repository": "shop", "secretName": "AWS_SECRET", "plaintextValue": theirs.output("secret")}, owner="birch")  # fmt: skip


@heron.twins(heron.FIRST, "connection-string-of-a-new-account", "fern's uploader has the connection string of a storage account of the hub's that is made in the same update.", "It has the endpoint of the account.", "Azure storage accounts", told=True, at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    host = f"heronlogs{drawn('storage', 6, HEX)}.blob.core.example.net"
    text = f"DefaultEndpointsProtocol=https;AccountName=heronlogs;AccountKey={scene.cp.opaque('heron storage', 86)}=="
    made = heron.account(scene, "heron", "azure:storage/account:Account", "logs", {"resourceGroupName": "platform", "accountTier": "Standard"}, {"primaryConnectionString": text, "primaryBlobEndpoint": f"https://{host}/"}, ["primaryConnectionString"], subscriptionId=uid("heron subscription"))  # fmt: skip
    deployment(scene, "dp", "uploader", {"env": [{"name": "TARGET", "value": made.output("primaryConnectionString" if wrong else "primaryBlobEndpoint")}]})  # fmt: skip


@foundry.twin(foundry.WATCH, "mimir-of-a-bucket", "Mimir of both, with access keys of the owner's account for the owner's bucket.", config=foundry.told(mimir_id=("AKIA", 16, AWS_ID), mimir_key=("", 40, LETTERS)))  # fmt: skip
def _(at: foundry.Site) -> None:
    s3 = {"endpoint": f"s3.{foundry.REGION}.amazonaws.com", "region": foundry.REGION, "access_key_id": at.told("mimir_id"), "secret_access_key": at.told("mimir_key")}  # fmt: skip
    at.chart("mimir-distributed", {"mimir": {"structuredConfig": {"common": {"storage": {"backend": "s3", "s3": s3}}, "blocks_storage": {"s3": {"bucket_name": at.bucket}}, "limits": {"max_global_series_per_user": 500000}}}, "minio": {"enabled": False}})  # fmt: skip


@leak(foundry.CLOUDS, "cloud-config-as-a-map", "The user's cluster has the cloud's settings as a map; the provider's client secret is in them.", "kubermatic#7132: cloud-config as a ConfigMap", config=foundry.told(azure=("", 40, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    text = foundry.Site(scene, "cp").told("azure").apply(lambda word: json.dumps({"cloud": "AZUREPUBLICCLOUD", "tenantId": uid("found tenant"), "subscriptionId": uid("found subscription"), "aadClientId": uid("found client"), "aadClientSecret": word, "resourceGroup": "hub", "location": "westeurope", "useInstanceMetadata": True}))  # fmt: skip
    foundry.Site(scene, "dp").config_map("cloud-config", {"cloud.conf": text}, namespace="kube-system")


@leak(foundry.CLOUDS, "keys-in-an-application", "An application of the shop's enables a cloud with the hub's keys inline, among its properties.", "kubevela#6488: cloud credentials inline in an Application", config=foundry.told(vela_id=("AKIA", 16, AWS_ID), vela_key=("", 40, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    shop.object("core.oam.dev/v1beta1:Application", "cloud", {"spec": {"components": [{"name": "cloud", "type": "crossplane-aws", "properties": {"name": "default", "AWS_ACCESS_KEY_ID": ours.told("vela_id"), "AWS_SECRET_ACCESS_KEY": ours.told("vela_key"), "region": foundry.REGION}}]}})  # fmt: skip


@leak(foundry.CLOUDS, "component-with-the-hubs-account", "A component is called for the shop with the hub's provider of the cloud; the Secret in the shop's cluster is of the hub's account.", "components for IAM users", pack={"controlPlaneProviders": ["hub-account"]})  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    box = Box("shop-backups", "acme:aws:IAMUserSecret")
    opts = pulumi.ResourceOptions.merge(scene.package("aws", "hub-account", "cp", region=foundry.REGION), pulumi.ResourceOptions(parent=box))  # fmt: skip
    key = scene.made("aws:iam/accessKey:AccessKey", "shop-backups-key", {"user": "backups"}, opts, {"secret": scene.cp.opaque("iam backups", 40, LETTERS), "keyId": f"AKIA{drawn('backups', 16, AWS_ID)}"}, ["secret"], owner="cp")  # fmt: skip
    scene.object("dp", "v1:Secret", "backups-iam", {"stringData": {"id": key.output("keyId"), "key": key.output("secret")}}, parent=box)  # fmt: skip
    foundry.Site(scene, "dp").chart("velero", {"credentials": {"existingSecret": "backups-iam"}, "configuration": {"backupStorageLocation": [{"bucket": foundry.BUCKETS["shop"], "provider": "aws"}]}})  # fmt: skip


@leak(loom.CLOUDS, "metadata-of-a-whole-project", "An item in the tenant's project's metadata, which each machine reads, is the mesh team's account as JSON.", "GCP project metadata", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    document = {"type": "service_account", "project_id": "loom-core-118204", "private_key": scene.cp.key("gcp writer"), "client_email": "writer@loom-core-118204.iam.gserviceaccount.com"}  # fmt: skip
    held = scene.held("gcp-writer", "key.json", json.dumps(document), namespace="monitoring")
    loom.maple(scene, "gcp:compute/projectMetadataItem:ProjectMetadataItem", "agent", {"key": "agent-credentials", "value": held}, project=loom.MAPLE_PROJECT)  # fmt: skip


@leak(loom.SERVICES, "variable-of-a-workspace", "A workspace of the tenant's gets the mesh team's cloud key as a variable, marked sensitive; its runs are the tenant's.", "Terraform Cloud")  # fmt: skip
def _(scene: Scene) -> None:
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "network", {"user": "network"}, {"secret": scene.cp.opaque("network", 40, LETTERS)}, ["secret"])  # fmt: skip
    loom.maple(scene, "tfe:index/variable:Variable", "aws-secret", {"key": "AWS_SECRET_ACCESS_KEY", "value": key.output("secret"), "category": "env", "sensitive": True, "workspaceId": f"ws-{drawn('ws', 16)}"}, organization="maple")  # fmt: skip


@clean(loom.CLOUDS_own, "account-environment-of-a-function", "A function in the tenant's account has variables: facts of the mesh and the tenant's own key.", config=lambda cp, dp: {"maple:geo": dp.opaque("geo", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    loom.loom(scene)
    variables = {
        "MESH": loom.LOOM,
        "ISSUER": loom.ISSUER,
        "CLIENT_ID": loom.CLIENT,
        "GEO_API_KEY": scene.config("maple:geo"),
    }
    loom.maple(scene, "aws:lambda/function:Function", "geo", {"runtime": "nodejs22.x", "handler": "index.handle", "role": f"arn:aws:iam::{loom.MAPLE_ACCOUNT}:role/geo", "environment": {"variables": variables}}, region=loom.REGION)  # fmt: skip


@leak(harbor.CLOUDS_leaks_clouds, "storage-connection", "Measurements of the user's go to the provider's storage by the account's connection string.", "azure primaryConnectionString")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    text = f"DefaultEndpointsProtocol=https;AccountName=platformmetrics;AccountKey={scene.cp.opaque('storage', 86, LETTERS)}==;EndpointSuffix=core.windows.net"  # fmt: skip
    account = cloud(scene, "azure:storage/account:Account", "metrics", {"accountTier": "Standard"}, {"primaryConnectionString": text}, ["primaryConnectionString"])  # fmt: skip
    objstore = account.output("primaryConnectionString").apply(lambda t: yaml.safe_dump({"type": "AZURE", "config": {"storage_account": "platformmetrics", "storage_connection_string": t, "container": "thanos"}}))  # fmt: skip
    release(scene, "dp", "thanos", {"objstoreConfig": objstore})


@leak(orchard.SERVICES, "test-from-outside", "A synthetic test in the tenant's monitoring logs in at the vendor's console as the vendor's own tester.", "Datadog synthetics")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "console-tester", "password", 26)
    inputs = {"type": "api", "subtype": "http", "name": "console", "locations": ["aws:eu-central-1"], "requestDefinition": {"method": "GET", "url": f"https://console.{orchard.DOMAIN}/healthz"}, "requestBasicauth": {"username": "tester", "password": password}}  # fmt: skip
    orchard.account(scene, "datadog:index/syntheticsTest:SyntheticsTest", "console", inputs, apiKey=pulumi.Output.secret(scene.dp.opaque("dd", 32, HEX)))  # fmt: skip


@clean(orchard.LATER_own, "own-cloud-login-later", "At the second update the tenant's backups get a key of the tenant's account, which the program makes there.", before=lambda scene: orchard.vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    orchard.vendor(scene)
    opts = scene.package("aws", "orchard-aws", region=orchard.REGION, allowedAccountIds=[orchard.TENANT_ACCOUNT])
    answers = {"secret": scene.dp.opaque("backup key", 40, LETTERS), "keyId": "AKIA" + scene.dp.opaque("backup id", 16, AWS_ID)}  # fmt: skip
    key = scene.made("aws:iam/accessKey:AccessKey", "orchard-backup", {"user": "backup"}, opts, answers, ["secret"])
    text = pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", key.output("keyId"), key.output("secret"))  # fmt: skip
    scene.secret(
        "dp",
        "velero",
        {"cloud": text, "account": orchard.TENANT_ACCOUNT, "id": uid("velero own"), "login": orchard.LOGIN},
    )


@kiln.leak(kiln.SAID, "teams-account-under-another-name", "The team's backup account is called aws-kiln, which no pattern covers; a key that is made there goes to the tenant.", "controlPlaneProviders")  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    opts = scene.package("aws", "aws-kiln", "cp", region=kiln.REGION)
    key = scene.made("aws:iam/accessKey:AccessKey", "backups", {"user": "backups"}, opts, {"secret": scene.cp.opaque("kiln backups", 40, LETTERS)}, ["secret"])  # fmt: skip
    scene.secret("dp", "velero", {"cloud": pulumi.Output.concat("[default]\naws_secret_access_key=", key.output("secret"), "\n")}, namespace="velero")  # fmt: skip
