"""A sandbox's processes and their commands. Pure."""
