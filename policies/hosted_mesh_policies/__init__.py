"""Policies that keep a control plane's credentials out of its data planes.

Rooms, each of which knows only those before it: `plan` (what is judged), `detect` (secrets and credentials in it),
`rules` (what is refused, and the words for it), then the front ends, `pack` (a running engine), `scan` (files) and
`prove` (a program, run with other secrets).
Everything but the front ends is pure and knows nothing of Pulumi.
"""
