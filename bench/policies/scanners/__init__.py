"""Scanners that others make, for the side-by-side comparison."""
