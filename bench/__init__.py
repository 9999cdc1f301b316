"""The benches. Entry functions: `report.run` (a mesh against a floor), `policies.run.run` (the policies).

Nothing is imported here: the programs that the benches measure live in this room too, and should start at once.
"""
