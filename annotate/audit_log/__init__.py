"""The log of changes and exports, and its sentences."""
