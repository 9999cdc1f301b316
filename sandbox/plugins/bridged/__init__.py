"""Providers whose official plug-in is a bridged Terraform provider (tls, random): resources that live in state alone."""
