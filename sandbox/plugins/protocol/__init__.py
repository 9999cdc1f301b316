"""Pulumi's provider protocol in Python: values, errors, server. Knows no provider in particular."""
