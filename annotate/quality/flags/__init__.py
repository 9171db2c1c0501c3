"""Flags on annotators."""
