"""Private keys, certificates and keystores, read from their bytes."""
