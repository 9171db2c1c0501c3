"""Joining by link, account or platform."""
