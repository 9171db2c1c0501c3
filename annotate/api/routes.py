"""Prefixes of the API's addresses."""

PROJECT = "v1/projects/<uuid:project_id>/"
