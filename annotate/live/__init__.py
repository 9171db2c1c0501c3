"""Pushes to watching pages."""
