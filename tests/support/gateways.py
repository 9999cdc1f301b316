"""What gateways of the live tests' meshes have in common."""

# Istio's own probe looks every 15 seconds.
PROBE = {"httpGet": {"path": "/healthz/ready", "port": 15021}, "periodSeconds": 1}
STATUS_PORT = {"name": "status-port", "port": 15021}
EASTWEST_PORTS = [STATUS_PORT, {"name": "tls", "port": 15443}]
