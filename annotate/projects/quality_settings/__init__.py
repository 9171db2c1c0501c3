"""Opening hours, reading time, breaks."""
