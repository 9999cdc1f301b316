"""Policies that keep a control plane's credentials out of its data planes.

Layers, each importing only those before it: `detect` (secrets and credentials in a plan), `rules` (checks and
messages), then the front ends `pack` (a running engine) and `scan` (files). Only the front ends depend on Pulumi.
"""
