"""The controller's database: objects, operations with their events, tokens, idempotency keys and the audit log."""
