"""The policy pack on a running engine: server, session, preview evidence, and the rules for Pulumi's own SDK."""
