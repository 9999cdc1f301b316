"""Istio's Helm charts as Pulumi resources."""
