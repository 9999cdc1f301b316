"""Classifies one value, by its content and its name."""
