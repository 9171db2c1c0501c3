"""Gold sets and flags."""
