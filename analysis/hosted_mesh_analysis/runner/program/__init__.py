"""One run without the engine: the unmodified program in a separate process, and a monitor that answers it."""
