"""What may cross between the two sides: the endpoint, the credentials, and the guard that watches both."""
