"""Angle-based ranking models: likelihood, mixture, completion of partial rankings."""
