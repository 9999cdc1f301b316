"""Unit tests judge by values alone: a slow machine is no reason to fail, and the same code gets the same verdict."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # Made-up input is the same each time; `make nightly` begins elsewhere each time, and makes far more.
    derandomize="HOSTED_MESH_SEED" not in os.environ,
)
settings.load_profile("any machine")
