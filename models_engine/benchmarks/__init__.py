"""Measurements of the estimators on real and simulated data; every table is the output of a command."""
