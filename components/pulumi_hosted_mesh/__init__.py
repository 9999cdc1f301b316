"""Service meshes whose control plane runs in the provider's cluster and whose proxies run in the user's."""
