"""What is asked of a mesh that runs: what is where, what is left over."""
