"""The stand-in for Pulumi's `kubernetes` plug-in."""
