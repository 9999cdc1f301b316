"""The commands of `make` and `python3 -m sandbox`: their arguments, and a module for each longer one."""
