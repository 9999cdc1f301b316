"""Components: a chart is rendered by helm, and its objects are registered with the engine, each after what it needs."""
