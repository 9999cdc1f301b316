"""Policies that keep a control plane's credentials out of its users' clusters.

The rules (`rules/`) and detectors (`detect/`) are pure: they read a `model.Stack` and know nothing of Pulumi. Three
front ends build that model: `server` (a policy pack on a running engine), `scan` (a state file, a preview's JSON, a
folder of manifests) and the tests (programs registered against a mock monitor).
"""
