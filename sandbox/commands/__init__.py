"""What `make` and `python3 -m sandbox` can be asked for: a command's arguments, then a module for each that is more."""
