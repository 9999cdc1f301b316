"""A program without the library: a hub's cluster and a tenant's. CORPUS_CASE names what the tenant's is given."""

import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s
import pulumi_random as random

kubeconfigs = {
    side: Path(os.environ[f"CORPUS_{name}"]).read_text(encoding="utf-8")
    for side, name in (("hub", "CONTROL_PLANE"), ("tenant", "DATA_PLANE"))
}
hub, tenant = (
    pulumi.ResourceOptions(
        provider=k8s.Provider(side, kubeconfig=pulumi.Output.secret(text), cluster_identifier=f"somebodys-{side}")
    )
    for side, text in kubeconfigs.items()
)
password = random.RandomPassword("database", length=24)
k8s.core.v1.Secret("database", string_data={"password": password.result}, opts=hub)
given = {
    "host": "database.example.com",
    "kubeconfig": kubeconfigs["hub"],
    "password": password.result.apply(lambda value: f"password={value}"),
}[os.environ["CORPUS_CASE"]]
k8s.core.v1.ConfigMap("agent", data={"agent.conf": given}, opts=tenant)
if os.environ["CORPUS_CASE"] == "password":  # and a login of some account's
    k8s.core.v1.Secret("agent", string_data={"VAULT_TOKEN": os.environ["CORPUS_TOKEN"]}, opts=tenant)
