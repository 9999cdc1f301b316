"""Detectors: value (fingerprints of known secrets), shape (credentials by structure), flow (who depends on whom)."""
