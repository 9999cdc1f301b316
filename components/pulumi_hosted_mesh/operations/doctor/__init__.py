"""What is wrong with a mesh, and with its part of a federation, where, and what to do: facts are read, then judged."""
