"""An annotator's own page."""
