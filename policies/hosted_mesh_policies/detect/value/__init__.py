"""The value detector: searches texts for the control plane's secrets. `inspection` is its entry."""
