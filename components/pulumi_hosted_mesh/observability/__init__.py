"""A mesh seen from outside: the collector of its metrics, Prometheus, access logs of gateways."""
