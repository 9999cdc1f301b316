"""Noninterference: what data planes are sent must not depend on the control plane's secrets. Run and compare.

`experiment` asks for runs and decides; `monitor` answers a program's registrations in place of an engine; `vault` makes
up every secret, the same one again or a fresh one; `process` runs an unmodified program. Knows nothing of the rules.
"""
