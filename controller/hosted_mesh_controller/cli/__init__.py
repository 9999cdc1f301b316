"""Commands: the service, and its client."""
