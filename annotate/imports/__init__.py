"""Uploads to items, features, comparisons and media."""
