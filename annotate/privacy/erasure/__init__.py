"""Erasing a person."""
