"""The benches: what a mesh costs, as ratios to a floor measured in the same run. Entry function: `run`."""

from sandbox.bench.report import run

__all__ = ["run"]
