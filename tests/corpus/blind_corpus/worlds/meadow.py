"""The surroundings of `meadow`: its control plane, tenants and accounts."""

from __future__ import annotations

ISSUER = "https://id.platform.example.com/realms/platform"
