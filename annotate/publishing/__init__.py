"""Exports, run records, results links."""
