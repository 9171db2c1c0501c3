"""Pages of results: ranking, trust, fits, goal, progress."""
