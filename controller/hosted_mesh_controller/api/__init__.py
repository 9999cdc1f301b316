"""The REST interface: FastAPI, OpenAPI 3.1, paths below /v1."""
