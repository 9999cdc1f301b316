"""One container of a Pod: its process, probes, restarts, environment and output."""
