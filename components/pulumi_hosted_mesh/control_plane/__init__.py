"""The control plane's side: `external` has the component, the other modules compute its objects."""
