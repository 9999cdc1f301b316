"""The benches. Entry functions: `report.run` (a mesh against a floor), `policies.run.run` (the policies).

No imports here: the benches' own programs live in this package too, and must start at once.
"""
