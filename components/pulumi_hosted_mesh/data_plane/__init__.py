"""The data plane's side: `access`, `remote` and `crds` have the components, other modules compute their objects."""
