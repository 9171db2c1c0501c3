"""Fits: list, comparison, figures."""
