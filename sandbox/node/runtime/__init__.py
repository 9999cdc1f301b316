"""What a container runtime does: a container's spec, its root directory and rights, and its first process."""
