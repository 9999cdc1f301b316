"""Providers that are Terraform providers behind a bridge (tls, random): their resources live in state alone."""
