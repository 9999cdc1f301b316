"""Harmless, of fleets: GitOps objects of a data plane, and objects by which operators fetch secrets of the tenant's own."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import minted, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import ref, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid

from .world import (
    ACCOUNT,
    DOMAIN,
    FLEET,
    REGION,
    SSO,
    SUBNETS,
    TENANT_ACCOUNT,
    VPC,
    ZONE,
    control_plane,
    plain_chart,
    plain_object,
)

GITOPS, STORES, CLOUDS = "fleet: GitOps", "fleet: stores of secrets", "fleet: objects of clouds"

# GitOps ---------------------------------------------------------------------------------------------------------------

plain_object(GITOPS, "application-set", "A set of Applications of the tenant's Argo CD with generators and templates: only names and revisions.", "argoproj.io/v1alpha1:ApplicationSet", {"spec": {"goTemplate": True, "goTemplateOptions": ["missingkey=error"], "generators": [{"matrix": {"generators": [{"git": {"repoURL": "https://github.com/shop/fleet", "revision": drawn("set", 40, HEX), "directories": [{"path": "apps/*"}]}}, {"clusters": {"selector": {"matchLabels": {"argocd.argoproj.io/secret-type": "cluster"}}, "values": {"vault": "kv/{{.name}}/secrets"}}}]}}], "template": {"metadata": {"name": "{{.path.basename}}-{{.nameNormalized}}"}, "spec": {"project": "shop", "source": {"repoURL": "https://github.com/shop/fleet", "targetRevision": "HEAD", "helm": {"valueFiles": ["values.yaml", "secrets://values-{{.name}}.enc.yaml"]}}, "destination": {"server": "{{.server}}"}}}}})  # fmt: skip
plain_object(GITOPS, "project-with-roles", "A project's roles name when their tokens were issued and by which id, not the tokens.", "argoproj.io/v1alpha1:AppProject", {"spec": {"sourceRepos": ["https://github.com/shop/*"], "signatureKeys": [{"keyID": "4AEE18F83AFDEB23"}], "roles": [{"name": "ci", "policies": ["p, proj:shop:ci, applications, sync, shop/*, allow"], "jwtTokens": [{"iat": 1767225600, "id": uid("project token"), "exp": 1798761600}]}]}, "status": {"jwtTokensByRole": {"ci": {"items": [{"iat": 1767225600, "id": uid("project token")}]}}}}, before="the same")  # fmt: skip
plain_object(GITOPS, "release-with-values-from", "A HelmRelease takes passwords from the tenant's own Secrets by path.", "helm.toolkit.fluxcd.io/v2:HelmRelease", {"spec": {"interval": "15m", "chartRef": {"kind": "OCIRepository", "name": "gitea"}, "valuesFrom": [{"kind": "Secret", "name": "gitea-db", "valuesKey": "password", "targetPath": "gitea.config.database.PASSWD"}, {"kind": "Secret", "name": "gitea-jwt", "valuesKey": "lfs", "targetPath": "gitea.config.server.LFS_JWT_SECRET", "optional": True}], "values": {"gitea": {"admin": {"existingSecret": "gitea-admin"}, "config": {"security": {"INSTALL_LOCK": True, "PASSWORD_HASH_ALGO": "argon2"}}}}, "postRenderers": [{"kustomize": {"patches": [{"target": {"kind": "Secret"}, "patch": "- op: remove\n  path: /metadata/annotations/helm.sh~1hook\n"}]}}]}})  # fmt: skip
plain_object(GITOPS, "artifact-with-identity", "A source of artifacts by digest, whose signer is known by its identity.", "source.toolkit.fluxcd.io/v1:OCIRepository", {"spec": {"url": "oci://ghcr.io/shop/manifests", "ref": {"digest": f"sha256:{noise('oci', 32).hex()}"}, "verify": {"provider": "cosign", "matchOIDCIdentity": [{"issuer": "^https://token.actions.githubusercontent.com$", "subject": "^https://github.com/shop/fleet/.github/workflows/release.yml@refs/tags/.*$"}]}}, "status": {"artifact": {"digest": f"sha256:{noise('oci layer', 32).hex()}", "revision": f"latest@sha256:{noise('oci', 32).hex()}"}}})  # fmt: skip
plain_object(GITOPS, "stage-of-promotions", "A promotion's freight has digests and commits.", "kargo.akuity.io/v1alpha1:Stage", {"spec": {"requestedFreight": [{"origin": {"kind": "Warehouse", "name": "shop"}, "sources": {"stages": ["test"]}}], "promotionTemplate": {"spec": {"steps": [{"uses": "git-clone", "config": {"repoURL": "https://github.com/shop/fleet", "checkout": [{"commit": drawn("freight", 40, HEX), "path": "./src"}]}}, {"uses": "yaml-update", "config": {"path": "./src/values.yaml", "updates": [{"key": "image.tag", "value": "${{ imageFrom('ghcr.io/shop/cart').Digest }}"}]}}, {"uses": "http", "config": {"headers": [{"name": "Authorization", "value": "Bearer ${{ secrets.notify.token }}"}]}}]}}}, "status": {"currentFreight": {"id": drawn("freight id", 40, HEX)}}})  # fmt: skip
plain_object(GITOPS, "sops-secret", "An encrypted document of the tenant's: cipher text for a key in the tenant's account.", "isindir.github.com/v1alpha3:SopsSecret", {"spec": {"secretTemplates": [{"name": "cart", "stringData": {"API_TOKEN": f"ENC[AES256_GCM,data:{b64(noise('enc', 30))},iv:{b64(noise('iv', 32))},tag:{b64(noise('tag', 16))},type:str]"}}]}, "sops": {"kms": [{"arn": f"arn:aws:kms:{REGION}:{TENANT_ACCOUNT}:key/{uid('sops kms')}", "created_at": "2026-01-01T00:00:00Z", "enc": b64(b"\x01\x02\x02\x00" + noise("sops enc", 180)), "aws_profile": ""}], "lastmodified": "2026-01-01T00:00:00Z", "mac": f"ENC[AES256_GCM,data:{b64(noise('mac', 88))},iv:{b64(noise('iv2', 32))},tag:{b64(noise('tag2', 16))},type:str]", "encrypted_suffix": "Templates", "version": "3.9.4"}})  # fmt: skip


@clean(GITOPS, "fleet-substitutions-of-the-network", "Flux substitutes facts of the network's stack: account, zone, subnets; nothing of them is marked or a login.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    outputs = {"vpcId": VPC, "zoneId": ZONE, "subnetIds": SUBNETS, "natAddresses": ["198.51.100.9", "198.51.100.10"]}
    network = scene.reference("network", "organization/fleet-network/prod", outputs)
    substitute = {
        "cluster_name": "shop",
        "vpc_id": network.get_output("vpcId"),
        "zone_id": network.get_output("zoneId"),
        "subnets": apply(network.get_output("subnetIds"), ",".join),
        "account": TENANT_ACCOUNT,
    }
    spec = {"path": "./infrastructure", "prune": True, "postBuild": {"substitute": substitute, "substituteFrom": [{"kind": "Secret", "name": "cluster-secrets", "optional": True}]}}  # fmt: skip
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "infrastructure", {"spec": spec})


@clean(GITOPS, "fleet-webhook-receiver", "The tenant's Flux is called with a generated token of the tenant's; the path that its status shows is a hash.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    scene.secret("dp", "receiver-token", {"token": own(scene, "receiver-token", 40)}, namespace="flux-system")
    spec = {"type": "github", "events": ["ping", "push"], "secretRef": {"name": "receiver-token"}, "resources": [{"kind": "GitRepository", "name": "fleet"}]}  # fmt: skip
    made = scene.answered("dp", "notification.toolkit.fluxcd.io/v1:Receiver", "github", {"spec": spec}, status={"webhookPath": f"/hook/{noise('hook', 32).hex()}"})  # fmt: skip
    path = made.output("status").apply(lambda found: (found or {}).get("webhookPath", ""))
    scene.config_map("dp", "receiver", {"url": pulumi.Output.concat("https://flux.shop.example.com", path)})


@clean(GITOPS, "fleet-own-forge-application", "The tenant's Argo CD reads the tenant's repositories as the tenant's own application at the forge.", config=lambda cp, dp: {"shop:forgeApp": dp.key("forge app"), "fleet:forgeApp": cp.key("forge app")})  # fmt: skip
def _(scene: Scene) -> None:
    labels = {"argocd.argoproj.io/secret-type": "repo-creds"}
    for side, owner, app in (("cp", "fleet", "910233"), ("dp", "shop", "884120")):
        data = {"type": "git", "url": f"https://github.com/{owner}", "githubAppID": app, "githubAppInstallationID": app + "07", "githubAppPrivateKey": scene.config(f"{owner}:forgeApp")}  # fmt: skip
        scene.secret(side, "forge-creds", data, labels=labels, namespace="argocd")


@clean(GITOPS, "fleet-dex-by-reference", "Argo CD's login at the tenant's uses Dex with `$` references; the issuer comes from the fleet's stack.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    hub = scene.reference("fleet-hub", "organization/fleet-hub/prod", {"issuer": SSO, "adminToken": scene.cp.opaque("hub admin token", 40)}, ["adminToken"])  # fmt: skip
    connector = {"type": "oidc", "id": "fleet", "config": {"issuer": hub.get_output("issuer"), "clientID": "shop-argocd", "clientSecret": "$dex-fleet:clientSecret", "insecureEnableGroups": True}}  # fmt: skip
    text = pulumi.Output.json_dumps({"connectors": [connector], "staticClients": [{"id": "argo-workflows", "secretEnv": "ARGO_WORKFLOWS_SECRET"}]})  # fmt: skip
    scene.config_map("dp", "argocd-cm", {"dex.config": text, "admin.enabled": "false", "url": "https://argocd.shop.example.com"}, namespace="argocd")  # fmt: skip


@clean(GITOPS, "fleet-operators-own-token", "A Pulumi operator at the tenant's runs the tenant's stacks with the tenant's token; the fleet's deployer has its own.", config=lambda cp, dp: {"shop:pulumiToken": "pul-" + dp.opaque("pulumi", 40, HEX), "fleet:pulumiToken": "pul-" + cp.opaque("pulumi", 40, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "fleet"), ("dp", "shop")):
        scene.secret(side, "pulumi-api-secret", {"accessToken": scene.config(f"{owner}:pulumiToken")})
        envs = {"PULUMI_ACCESS_TOKEN": {"type": "Secret", "secret": ref("pulumi-api-secret", "accessToken")}}
        spec = {"stack": f"{owner}/apps/prod", "fluxSource": {"sourceRef": {"kind": "GitRepository", "name": "apps"}}, "envRefs": envs, "destroyOnFinalize": True}  # fmt: skip
        scene.object(side, "pulumi.com/v1:Stack", "apps", {"spec": spec})


@clean(GITOPS, "fleet-bootstrapped-values", "A root Application of the tenant's has the chart's values as a text with facts of the control plane: address, mesh, zone.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    exposed = scene.answered("cp", "v1:Service", "istiod-exposed", {"spec": {"type": "LoadBalancer", "selector": {"app": "istiod"}, "loadBalancerSourceRanges": ["192.0.2.0/24"], "ports": [{"name": "xds", "port": 15012}]}}, status={"loadBalancer": {"ingress": [{"hostname": f"a{drawn('nlb', 31, HEX)}-{drawn('nlb2', 16, HEX)}.elb.{REGION}.amazonaws.com"}]}})  # fmt: skip
    host = exposed.output("status").apply(lambda s: (s or {}).get("loadBalancer", {}).get("ingress", [{}])[0].get("hostname", ""))  # fmt: skip
    values = host.apply(lambda name: yaml.safe_dump({"global": {"remotePilotAddress": name, "meshID": FLEET, "network": "shop"}, "istiodRemote": {"enabled": True, "injectionPath": "/inject/cluster/shop/net/shop"}}))  # fmt: skip
    spec = {"project": "mesh", "source": {"repoURL": "https://istio-release.storage.googleapis.com/charts", "chart": "istiod", "targetRevision": "1.26.1", "helm": {"releaseName": "istiod-remote", "values": values}}, "destination": {"name": "in-cluster", "namespace": "istio-system"}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "istiod-remote", {"spec": spec})


# Stores of secrets ----------------------------------------------------------------------------------------------------

plain_object(STORES, "secret-by-regular-expression", "An ExternalSecret finds entries by a regular expression and writes a Docker login by a template.", "external-secrets.io/v1:ExternalSecret", {"spec": {"refreshInterval": "1h", "secretStoreRef": {"kind": "ClusterSecretStore", "name": "shop"}, "dataFrom": [{"find": {"name": {"regexp": "^shop/(password|token|api-key)-.*"}, "tags": {"tier": "gold"}}, "rewrite": [{"regexp": {"source": "shop/(.*)", "target": "$1"}}]}], "target": {"name": "regcred", "template": {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": '{"auths":{"{{ .host }}":{"username":"{{ .user }}","password":"{{ .password }}","auth":"{{ printf "%s:%s" .user .password | b64enc }}"}}}'}}}}})  # fmt: skip
plain_object(STORES, "pushed-secret", "The tenant's operator pushes the tenant's Secrets to the tenant's store: names and remote keys.", "external-secrets.io/v1alpha1:PushSecret", {"spec": {"updatePolicy": "Replace", "deletionPolicy": "Delete", "secretStoreRefs": [{"name": "shop", "kind": "SecretStore"}], "selector": {"secret": {"name": "istio-ca-secret"}}, "data": [{"conversionStrategy": "None", "match": {"secretKey": "root-cert.pem", "remoteRef": {"remoteKey": "shop/mesh/root", "property": "pem"}}}]}})  # fmt: skip
plain_object(STORES, "password-generator", "A generator of passwords, by length and letters.", "generators.external-secrets.io/v1alpha1:Password", {"spec": {"length": 42, "digits": 5, "symbols": 5, "symbolCharacters": "-_$@!%^*()+=", "noUpper": False, "allowRepeat": True}})  # fmt: skip
plain_object(STORES, "csi-class", "A class of the secrets' driver: its objects are a text with names of entries.", "secrets-store.csi.x-k8s.io/v1:SecretProviderClass", {"spec": {"provider": "vault", "parameters": {"roleName": "shop-cart", "vaultAddress": "https://vault.shop.example.com:8200", "vaultCACertPath": "/vault/tls/ca.crt", "objects": '- objectName: "db-password"\n  secretPath: "kv/data/shop/db"\n  secretKey: "password"\n- objectName: "api-token"\n  secretPath: "kv/data/shop/api"\n  secretKey: "token"\n'}, "secretObjects": [{"secretName": "cart", "type": "Opaque", "data": [{"objectName": "db-password", "key": "password"}]}]}}, before="the same")  # fmt: skip
plain_object(STORES, "static-secret-of-vault", "An operator of Vault keeps a copy of an entry of the tenant's; versions and an HMAC's length in its status.", "secrets.hashicorp.com/v1beta1:VaultStaticSecret", {"spec": {"mount": "kv", "path": "shop/cart", "type": "kv-v2", "version": 7, "refreshAfter": "60s", "vaultAuthRef": "shop", "hmacSecretData": True, "destination": {"create": True, "name": "cart", "transformation": {"excludes": [".*"], "templates": {"url": {"text": '{{- printf "postgres://%s:%s@db/cart" (get .Secrets "user") (get .Secrets "password") -}}'}}}}, "rolloutRestartTargets": [{"kind": "Deployment", "name": "cart"}]}, "status": {"lastGeneration": 3, "secretMAC": b64(noise("vso mac", 32))}})  # fmt: skip
plain_object(STORES, "onepassword-item", "An item of the tenant's safe by two ids of 26 letters.", "onepassword.com/v1:OnePasswordItem", {"spec": {"itemPath": f"vaults/{drawn('1p vault', 26, 'abcdefghijklmnopqrstuvwxyz234567')}/items/{drawn('1p item', 26, 'abcdefghijklmnopqrstuvwxyz234567')}"}})  # fmt: skip
plain_chart(STORES, "secrets-operator", "A secrets operator's settings: a machine identity by id, a project by id, its secret by name.", {"hostAPI": "https://app.infisical.com/api", "authentication": {"universalAuth": {"secretsScope": {"projectId": uid("infisical project"), "envSlug": "prod", "secretsPath": "/cart"}, "identityId": uid("infisical identity"), "credentialsRef": {"secretName": "universal-auth", "secretNamespace": "shop"}}}, "resyncInterval": 60})  # fmt: skip


@clean(STORES, "fleet-store-in-the-same-cluster", "The tenant's store of secrets is another namespace of the tenant's cluster, whose authority is read from the map that each namespace has.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    pem = "-----BEGIN CERTIFICATE-----\n" + b64(noise("the tenant's api", 300)) + "\n-----END CERTIFICATE-----\n"
    found = scene.existing("dp", "v1:ConfigMap", "kube-root-ca.crt", data={"ca.crt": pem})
    server = {"url": "https://kubernetes.default.svc", "caBundle": found.output("data").apply(lambda d: b64(d["ca.crt"]))}  # fmt: skip
    provider = {"kubernetes": {"remoteNamespace": "secrets", "server": server, "auth": {"serviceAccount": {"name": "reader"}}}}  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "local", {"spec": {"provider": provider}})


@clean(STORES, "fleet-reviewer-of-tokens", "The control plane's Vault reviews the tenant's Pods with a token that the tenant's cluster minted; the tenant gets the path and the accessor.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    token = minted(scene, "dp", "vault-reviewer")
    scene.secret("cp", "vault-reviewer", {"token": token}, namespace="vault")
    backend = scene.made("vault:index/authBackend:AuthBackend", "shop-kubernetes", {"type": "kubernetes", "path": "kubernetes/shop"}, None, {"accessor": f"auth_kubernetes_{drawn('accessor', 8, HEX)}"}, owner="cp")  # fmt: skip
    scene.made("vault:kubernetes/authBackendConfig:AuthBackendConfig", "shop-reviewer", {"backend": "kubernetes/shop", "kubernetesHost": "https://dp.example.com:6443", "tokenReviewerJwt": token}, None, {}, owner="cp")  # fmt: skip
    spec = {"method": "kubernetes", "mount": backend.output("path"), "kubernetes": {"role": "shop", "serviceAccount": "default", "audiences": ["vault"]}}  # fmt: skip
    scene.object("dp", "secrets.hashicorp.com/v1beta1:VaultAuth", "shop", {"spec": spec, "metadata": {"annotations": {"vault.example.com/accessor": backend.output("accessor")}}})  # fmt: skip


@clean(STORES, "fleet-certificate-for-sealing", "The certificate with which the tenant's developers seal Secrets is the tenant's controller's, public, in a map.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    key, cert = pair(scene, "dp", "sealing")
    data = {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}
    scene.secret("dp", "sealed-secrets-key", data, kind="kubernetes.io/tls", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip
    scene.config_map("dp", "sealing-certificate", {"pub-cert.pem": cert.output("certPem")}, namespace="kube-public")


@clean(STORES, "fleet-own-store-key", "The tenant's store is the tenant's account at a vendor, whose service token the tenant configured; the fleet has a token of the same vendor.", config=lambda cp, dp: {"shop:doppler": "dp.st.prd." + dp.opaque("doppler", 43, LETTERS), "fleet:doppler": "dp.st.prd." + cp.opaque("doppler", 43, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "fleet"), ("dp", "shop")):
        scene.secret(side, "doppler-token", {"serviceToken": scene.config(f"{owner}:doppler")}, namespace="doppler")
        spec = {"tokenSecret": {"name": "doppler-token"}, "managedSecret": {"name": "app", "namespace": "shop"}, "project": owner, "config": "prd"}  # fmt: skip
        scene.object(side, "secrets.doppler.com/v1alpha1:DopplerSecret", "app", {"spec": spec})


# Objects of clouds ----------------------------------------------------------------------------------------------------

plain_object(CLOUDS, "database-by-ack", "A database of the tenant's account, its password by the name of a Secret.", "rds.services.k8s.aws/v1alpha1:DBInstance", {"spec": {"dbInstanceIdentifier": "cart", "engine": "postgres", "masterUsername": "cart", "masterUserPassword": {"namespace": "shop", **ref("cart-db", "password")}, "manageMasterUserPassword": False, "masterUserSecretKMSKeyID": f"arn:aws:kms:{REGION}:{TENANT_ACCOUNT}:key/{uid('ack kms')}", "dbSubnetGroupName": "shop"}, "status": {"endpoint": {"address": f"cart.{drawn('rds', 12)}.{REGION}.rds.amazonaws.com", "hostedZoneID": "Z1RLNUO7B9Q6NB", "port": 5432}, "dbiResourceID": "db-" + drawn("dbi", 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), "masterUserSecret": {"secretARN": f"arn:aws:secretsmanager:{REGION}:{TENANT_ACCOUNT}:secret:rds!db-{uid('rds secret')}-x7Kq2M", "secretStatus": "active"}}})  # fmt: skip
plain_object(CLOUDS, "account-with-external-id", "Crossplane at the tenant's assumes a role of the tenant's account with an external id, which is no secret.", "aws.upbound.io/v1beta1:ProviderConfig", {"spec": {"credentials": {"source": "IRSA"}, "assumeRoleChain": [{"roleARN": f"arn:aws:iam::{TENANT_ACCOUNT}:role/crossplane", "externalID": uid("external id"), "tags": [{"key": "fleet", "value": FLEET}]}]}}, before="the same")  # fmt: skip
plain_object(CLOUDS, "user-by-config-connector", "A database's user of the tenant's project, by references.", "sql.cnrm.cloud.google.com/v1beta1:SQLUser", {"metadata": {"annotations": {"cnrm.cloud.google.com/project-id": "shop-prod-418820"}}, "spec": {"resourceID": "cart", "instanceRef": {"external": "shop-prod-418820/cart"}, "password": {"valueFrom": {"secretKeyRef": ref("cart-db", "password")}}, "passwordPolicy": {"allowedFailedAttempts": 5, "passwordExpirationDuration": "7776000s"}}})  # fmt: skip
plain_object(CLOUDS, "server-by-aso", "A server of the tenant's subscription: ids, a login by reference, the place for what it tells.", "dbforpostgresql.azure.com/v1api20230601preview:FlexibleServer", {"spec": {"azureName": "shop-cart", "owner": {"armId": f"/subscriptions/{uid('subscription')}/resourceGroups/shop"}, "administratorLogin": "cart", "administratorLoginPassword": ref("cart-db", "password"), "authConfig": {"activeDirectoryAuth": "Enabled", "passwordAuth": "Enabled", "tenantId": uid("entra tenant")}, "operatorSpec": {"secrets": {"fullyQualifiedDomainName": ref("cart-host", "fqdn")}}}})  # fmt: skip
plain_object(CLOUDS, "terraform-object", "Terraform in the tenant's cluster: variables out of Secrets, a backend, a plan's id.", "infra.contrib.fluxcd.io/v1alpha2:Terraform", {"spec": {"approvePlan": f"plan-main-{drawn('plan', 10, HEX)}", "path": "./cart", "varsFrom": [{"kind": "Secret", "name": "cart-vars", "varsKeys": ["db_password", "api_token"]}], "vars": [{"name": "account", "value": TENANT_ACCOUNT}], "writeOutputsToSecret": {"name": "cart-outputs", "outputs": ["host", "password"]}, "backendConfig": {"customConfiguration": f'backend "s3" {{\n  bucket = "shop-state-{drawn("state", 8, HEX)}"\n  kms_key_id = "{uid("state kms")}"\n  encrypt = true\n}}\n'}}})  # fmt: skip
plain_chart(CLOUDS, "aws-load-balancer-controller", "A controller of balancers with ids of the tenant's network and a role.", {"clusterName": "shop", "vpcId": VPC, "region": REGION, "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{TENANT_ACCOUNT}:role/AmazonEKSLoadBalancerControllerRole-{drawn('albrole', 12, LETTERS)}"}}, "defaultTags": {"fleet": FLEET, "owner": "shop"}, "enableCertManager": True, "webhookTLS": {"caCert": None, "cert": None, "key": None}})  # fmt: skip
plain_chart(CLOUDS, "karpenter", "Nodes by launch settings: a queue, a profile, images and a script that fetches its own login.", {"settings": {"clusterName": "shop", "clusterEndpoint": f"https://{drawn('karpenter', 32, HEX.upper())}.sk1.{REGION}.eks.amazonaws.com", "interruptionQueue": f"shop-{drawn('queue', 12, LETTERS)}"}, "nodeClass": {"amiSelectorTerms": [{"id": f"ami-{drawn('ami', 17, HEX)}"}], "instanceProfile": f"KarpenterNodeInstanceProfile-{drawn('profile', 20)}", "userData": f"#!/bin/bash\nTOKEN=$(curl -sX PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60')\naws ecr get-login-password --region {REGION} | ctr login --username AWS --password-stdin {TENANT_ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com\n"}})  # fmt: skip


@clean(CLOUDS, "fleet-pod-identity", "Pods at the tenant's get the role that the fleet's account made for them: its ARN and the association's id.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    trust = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{TENANT_ACCOUNT}:root"}, "Condition": {"StringEquals": {"sts:ExternalId": uid("pod identity")}}}]})  # fmt: skip
    role = scene.made("aws:iam/role:Role", "fleet-reader", {"assumeRolePolicy": trust}, None, {"arn": f"arn:aws:iam::{ACCOUNT}:role/fleet-reader-{drawn('fr', 7, HEX)}", "uniqueId": "AROA" + drawn("aroa", 17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}, owner="cp")  # fmt: skip
    values: dict[str, Any] = {"config": f"[profile default]\nrole_session_name = shop\nregion = {REGION}\n", "role": {"arn": role.output("arn"), "uniqueId": role.output("uniqueId"), "externalId": uid("pod identity")}}  # fmt: skip
    release(scene, "dp", "fleet-reader", values)


@clean(CLOUDS, "fleet-zone-of-the-tenant", "The fleet's account delegates a zone to the tenant: the tenant's external-dns gets the zone's id and its name servers.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    servers = [f"ns-{at}.awsdns-{at % 64:02}.{end}" for at, end in ((217, "com"), (871, "net"), (1530, "org"))]
    zone = scene.made("aws:route53/zone:Zone", "shop-zone", {"name": f"shop.{DOMAIN}"}, None, {"zoneId": "Z" + drawn("zone", 20, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "nameServers": servers}, owner="cp")  # fmt: skip
    args = pulumi.Output.concat("--zone-id-filter=", zone.output("zoneId"))
    release(scene, "dp", "external-dns", {"provider": {"name": "aws"}, "extraArgs": [args], "txtOwnerId": FLEET, "txtEncrypt": {"enabled": False}})  # fmt: skip
    scene.config_map("dp", "name-servers", {"ns": zone.output("nameServers").apply(lambda n: "\n".join(n or []))})
