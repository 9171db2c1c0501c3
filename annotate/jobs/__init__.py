"""Background jobs claimed with a lease."""
