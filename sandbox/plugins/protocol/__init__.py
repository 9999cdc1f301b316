"""Pulumi's provider protocol in Python: values, errors, server, for any provider."""
