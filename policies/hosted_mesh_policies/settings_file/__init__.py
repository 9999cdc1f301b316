"""The command `hosted-mesh-policies`: the pack's folder, and the first settings file for a program."""
