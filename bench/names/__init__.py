"""The delay of names in DNS, by the DNS bridge and by an external-dns inside the edge: `make bench ARGS=dns`."""
