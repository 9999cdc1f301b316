"""Noninterference: what data planes are sent must not depend on the control plane's secrets. Run and compare.

`session` proves one stack, `experiment` asks for runs and decides. `secrets` makes up every secret, the same one again
or a fresh one; `program` runs an unmodified program and answers it in place of an engine; `engine` has Pulumi's engine
preview it. Knows nothing of the rules.
"""
