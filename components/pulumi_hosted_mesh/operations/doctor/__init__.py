"""Checks of a running mesh and its part of a federation: they read facts and report failures with fixes."""
