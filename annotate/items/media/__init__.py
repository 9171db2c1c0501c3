"""Items' files."""
