"""A project's goal."""
