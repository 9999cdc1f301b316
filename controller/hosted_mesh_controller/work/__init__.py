"""Carries out operations: a durable queue, and for each operation a process."""
