"""Registers nothing: what a preview of this takes, Pulumi and Python take in each preview."""
