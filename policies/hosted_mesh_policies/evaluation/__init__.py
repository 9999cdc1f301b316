"""Runs the rules: their input, their findings, and a verdict for every failure of a rule."""
