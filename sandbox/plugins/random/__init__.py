"""The stand-in for Pulumi's `random` plug-in."""
