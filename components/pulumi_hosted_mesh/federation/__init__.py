"""Meshes that serve each other: pure functions that compute each mesh's objects, and the component that makes them."""
