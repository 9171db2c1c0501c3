"""Counts by annotator and item, explained by effects of both and by factors that they share."""
