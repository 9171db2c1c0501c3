"""Cloning and archiving."""
