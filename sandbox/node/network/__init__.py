"""Pods' networks: a network plug-in's part of a node. Entry: `daemon.Daemon`, which serves the runtime."""
