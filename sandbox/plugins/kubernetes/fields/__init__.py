"""The fields of an object: as a program gave them, which of them changed, who owns them, and what is kept of them."""
