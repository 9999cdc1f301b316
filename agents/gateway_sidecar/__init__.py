"""The sidecar of the shared gateway: it merges the meshes' rows, ConfigMaps, to the files of Envoy's configuration."""
