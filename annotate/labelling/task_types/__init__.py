"""Task types: one module for each, one row in the registry."""
