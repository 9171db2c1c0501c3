"""Annotators' own keys."""
