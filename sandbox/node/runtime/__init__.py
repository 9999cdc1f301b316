"""A container runtime's work: a container's spec, its root directory and rights, and its first process."""
