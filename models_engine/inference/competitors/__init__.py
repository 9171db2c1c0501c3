"""Competitors: the variational fit of f = g + h + x'beta + e by contexts, and the effect of annotators' tastes."""
