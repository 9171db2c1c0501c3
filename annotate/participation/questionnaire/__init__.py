"""Questions about annotators."""
