"""Pulumi's provider protocol in Python: values, errors, engine log, server. Knows no provider in particular."""
