"""Do istiod's webhooks answer the API server of a data plane? Asked by dry runs, judged by a pure function."""
