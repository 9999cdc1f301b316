"""Compares two versions of a program's stacks: the base's, and the working tree's.

`versions` finds the two. `runs` runs each stack of each twice, with the same generated secrets. `masked` and `snapshot`
make one tree of two runs, without values that depend on a secret. `compare` compares (`trees`) into a `result`. `saved`
is the result as JSON. `supervised` starts a process (`worker`) without this machine's credentials for it. `lines`,
`report` and `markdown` print it.
"""
