"""The shape detector: credentials by their structure and by the name beside them. `shapes` is its entry."""
