"""Settings of the gateways in the live tests' meshes."""

# Istio's own probe runs every 15 seconds.
PROBE = {"httpGet": {"path": "/healthz/ready", "port": 15021}, "periodSeconds": 1}
STATUS_PORT = {"name": "status-port", "port": 15021}
EASTWEST_PORTS = [STATUS_PORT, {"name": "tls", "port": 15443}]
