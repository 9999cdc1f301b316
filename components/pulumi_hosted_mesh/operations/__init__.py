"""Commands for a running mesh: its checks, its facts and its leftovers."""
