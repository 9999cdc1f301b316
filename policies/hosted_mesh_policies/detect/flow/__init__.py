"""The flow detector: the way of a secret from its source to a forbidden place. `leaks` is its entry."""
