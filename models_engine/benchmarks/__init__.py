"""Measurements of the estimators on real and simulated data; each table is written by a command, never by hand."""
