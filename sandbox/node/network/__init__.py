"""Pods' networks: a network plug-in's part of a node's work. Entry: `daemon.Daemon`, which the runtime asks."""
