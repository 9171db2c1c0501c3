"""Gaussian process preference learning from pairs: EP, variational, inducing points."""
