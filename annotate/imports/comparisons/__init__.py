"""Comparisons made elsewhere, imported as labels."""
