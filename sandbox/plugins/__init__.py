"""Stand-ins for Pulumi's kubernetes, tls and random provider plug-ins, for machines that cannot download those."""
