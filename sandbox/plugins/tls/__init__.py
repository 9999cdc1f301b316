"""The stand-in for Pulumi's `tls` plug-in."""
