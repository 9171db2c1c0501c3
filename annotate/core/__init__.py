"""Helpers without tables and without a subject."""
