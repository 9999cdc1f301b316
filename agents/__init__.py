"""Programs that run in Pods, one package each, with the standard library only."""
