"""A small chart in two versions, archives of it, and the sandbox's Helm."""

from __future__ import annotations

import functools
import io
import tarfile
from pathlib import Path

from sandbox import toolchain
from sandbox.progress import Progress

TEMPLATE = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {{{{ .Release.Namespace }}}}}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:{version}
          args: [serve, --level={level}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: {{{{ .Release.Namespace }}}}}}
data:
  key: {{{{ .Values.key | quote }}}}
  encoded: {{{{ .Values.key | b64enc | quote }}}}
  release: {version}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: web}}
rules: [{{apiGroups: [""], resources: [{resources}], verbs: [get]}}]
"""


@functools.cache
def helm() -> str:
    return str(toolchain.ensure(["helm"], progress=Progress())["helm"])


def chart(version: str, level: str, resources: str) -> dict[str, str]:
    """Its files."""
    return {
        "Chart.yaml": f"apiVersion: v2\nname: web\nversion: {version}\n",
        "values.yaml": "key: none\n",
        "templates/all.yaml": TEMPLATE.format(version=version, level=level, resources=resources),
    }


def archive(folder: Path, version: str, level: str, resources: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"web-{version}.tgz"
    with tarfile.open(file, "w:gz") as tar:
        for name, text in chart(version, level, resources).items():
            data = text.encode()
            entry = tarfile.TarInfo(f"web/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return file
