"""Runs an unmodified Pulumi program and captures the resources that it registers.

`project` reads the project and its stacks. `program` starts the program and answers it in place of an engine.
`secrets` generates every secret: the same one again, or a fresh one. `capture` holds the registered resources.
"""
