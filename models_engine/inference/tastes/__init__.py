"""Covariance, factors and scales of taste."""
