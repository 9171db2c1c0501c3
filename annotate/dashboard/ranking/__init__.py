"""The ranking."""
