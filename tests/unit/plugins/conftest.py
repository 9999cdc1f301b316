"""The SDK is imported first: of the plug-ins' stubs the first brings shells in its place unless it is there, and the
tests' programs need all of it."""

import pulumi.automation  # noqa: F401
