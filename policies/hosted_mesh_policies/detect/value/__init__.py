"""The value detector: the control plane's known secrets, looked for in texts. `inspection` is its entry."""
