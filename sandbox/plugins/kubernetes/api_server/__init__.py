"""The API server: where it is and as whom, which kinds it has, and requests to it."""
