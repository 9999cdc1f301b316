"""Checks that istiod's webhooks answer a data plane's API server: by dry runs, judged by a pure function."""
