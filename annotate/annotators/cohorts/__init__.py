"""Cohorts: annotators divided and fitted apart."""
