"""Registers no resource: a preview of it is the part of Pulumi and Python in each preview."""
