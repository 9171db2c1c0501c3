"""Planned item sets."""
