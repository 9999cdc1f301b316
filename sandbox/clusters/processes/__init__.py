"""Which processes a sandbox runs, and with which commands. Pure."""
