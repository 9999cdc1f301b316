"""The data plane's side: `remote` and `crds` have the components, the other modules compute what they create."""
