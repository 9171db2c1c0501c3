"""Annotators by HTTP, for the tests under fire and the load figures."""
