"""How long names are kept."""
