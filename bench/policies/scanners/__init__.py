"""Other projects' scanners, for the side-by-side comparison."""
