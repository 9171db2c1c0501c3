"""Conflicts of interest: items that an annotator is never shown."""
