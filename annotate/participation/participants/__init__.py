"""Who took part, for platforms."""
