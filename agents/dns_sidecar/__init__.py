"""Programs beside external-dns on the control plane: a writer of DNSEndpoints for each edge, a gate for each publisher.

`python3 -m edge_writer` runs beside an external-dns that reads an edge, and makes DNSEndpoints there of what it finds;
`python3 -m edge_writer.gate` lets one of several replicas publish. They are of the standard library alone, put into
their containers by a ConfigMap, so nobody has to build an image. They import nothing of the library, and the library
nothing of them.
"""
