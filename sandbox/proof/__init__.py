"""The proof: what a running sandbox was just seen to do, one row per claim.

A row gets its tick only from an observation made in this run; a check that cannot observe what it claims, for
whatever reason, loses its tick and says why. Entry functions: `run` and `render`.
"""

from sandbox.proof.table import Check, Observation, render, run

__all__ = ["Check", "Observation", "render", "run"]
