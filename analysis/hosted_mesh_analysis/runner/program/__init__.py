"""One run without the engine: the unmodified program in a process of its own, a monitor that answers it."""
