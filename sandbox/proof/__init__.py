"""The proof: observations of a running sandbox, one row per claim.

A row gets its tick only from an observation made in this run. A check that cannot observe its claim, for any reason,
loses its tick and reports the reason. Entry functions: `run` and `render`.
"""

from sandbox.proof.table import Check, Observation, render, run

__all__ = ["Check", "Observation", "render", "run"]
