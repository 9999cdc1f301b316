"""Noninterference: data planes' resources must not depend on the control plane's secrets.

`session` proves one stack, `experiment` requests runs and decides. `engine` previews the program by Pulumi's engine.
Runs come from `runner`.
"""
