"""The master controller: orders of meshes by REST, each carried out as one operation on one stack of this project."""
