"""Sets with a known answer."""
