"""The process of one operation, `python -m hosted_mesh_controller.job`: the only part that imports Pulumi's engine.

It reads a request from standard input and writes events to standard output, one JSON text on each line. The end of
standard input interrupts the engine: so a controller that dies takes its operations along.
"""
