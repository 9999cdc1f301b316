"""The same rules without an engine: on a state file, a preview's JSON, or a folder of manifests."""
