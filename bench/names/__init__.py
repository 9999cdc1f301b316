"""How soon names are answered, by the DNS bridge and by an external-dns inside the edge: `make bench ARGS=dns`."""
