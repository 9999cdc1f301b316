"""Scanners that others make, for the side-by-side comparison."""

from bench.policies.scanners.others import SCANNERS, Scanner

__all__ = ["SCANNERS", "Scanner"]
