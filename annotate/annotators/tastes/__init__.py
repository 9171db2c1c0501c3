"""The taste map and own rankings."""
