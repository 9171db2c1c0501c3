"""Captions of sound and video."""
