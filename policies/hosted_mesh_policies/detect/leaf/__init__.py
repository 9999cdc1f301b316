"""What one value is, by itself and by its name."""
