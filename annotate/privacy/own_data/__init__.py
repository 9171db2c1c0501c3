"""A person's own data."""
