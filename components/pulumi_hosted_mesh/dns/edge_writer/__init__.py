"""Runs on the control plane beside an external-dns that reads an edge: makes DNSEndpoints there of what it finds.

A program of its own (`python3 -m edge_writer`), of the standard library alone: it is put into its container by a
ConfigMap, so nobody has to build an image. It imports nothing of the library, and the library nothing of it.
"""
