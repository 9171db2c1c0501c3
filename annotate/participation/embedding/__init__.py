"""The vote inside other sites' pages."""
