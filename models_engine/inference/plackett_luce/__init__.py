"""Bounds and fits of Plackett-Luce with features."""
