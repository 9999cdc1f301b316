"""The control plane's side: `external` has the component, the other modules compute what it creates."""
