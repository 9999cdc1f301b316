"""The boundary between the two sides: the endpoint, checks of arguments, and the guard."""
