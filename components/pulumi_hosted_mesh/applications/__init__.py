"""Applications across meshes: which part goes to which cluster, and the component that makes the objects there."""
