"""One run by the real engine: a preview of a copy of the project, with different secrets."""
