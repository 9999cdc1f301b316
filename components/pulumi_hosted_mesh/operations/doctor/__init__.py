"""What is wrong with a mesh's part of a federation, where, and what to do: facts are read, then judged."""
