"""Analyses of a Pulumi program without an engine or a cluster.

`runner` runs a program and captures the resources that it registers. `prove` compares runs with different secrets.
`diff` compares two versions of a program. The two are siblings: neither imports the other.
"""
