"""Networks, addresses and names of the clusters."""
