"""A Pod's volumes: what their files hold, and how they are kept up to date."""
