"""The flow detector: how a secret gets from where it was made to where it must not be. `leaks` is its entry."""
