"""Excluding many answers at once, by time, session or tag."""
