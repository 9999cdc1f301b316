"""When an object counts as ready, per kind as in the official plug-in, and waiting until it is.

Each kind has a `Condition`: what to look at, and a pure judgement of what was seen. One loop serves them all.
"""
