"""What a change of a program changes: its stacks as the base registers them, and as the working tree does.

`versions` finds the two, `runs` runs each stack of each twice, with the same made-up secrets; `masked` and `sight` make
one tree of two runs, in which nothing is left that depends on a secret; `compare` compares (`trees`). `result` is what
is known then; `saved` is it as JSON, and `supervised` has it made by a process (`worker`) without this machine's
credentials; `lines`, `report` and `markdown` show it. Built on `prove`, which knows nothing of it.
"""
