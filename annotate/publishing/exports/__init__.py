"""Export tables."""
