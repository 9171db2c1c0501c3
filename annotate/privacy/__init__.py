"""People's data: erasure, retention, own data."""
