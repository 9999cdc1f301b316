"""The parts that all meshes of a control plane's cluster share: `gateway` has the component."""
