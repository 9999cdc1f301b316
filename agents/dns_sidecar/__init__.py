"""The sidecar of the DNS bridge's external-dns containers, on the control plane.

`python3 -m dns_sidecar reader` runs beside the external-dns that reads an edge. It stores names as DNSEndpoints there.
`python3 -m dns_sidecar publisher` runs beside the external-dns that writes to a DNS provider. It lets one of several
replicas publish. The program uses the standard library only, so a ConfigMap can deliver its source.
"""
