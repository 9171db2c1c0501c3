"""Whether the ranking can be trusted."""
