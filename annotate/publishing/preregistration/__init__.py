"""Preregistration: freezing a plan, and deviations from it."""
