"""Discovery of the meshes in clusters, of any origin: reads objects, derives facts, and prints them."""
