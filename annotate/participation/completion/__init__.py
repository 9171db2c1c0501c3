"""How taking part ends: pages, codes."""
