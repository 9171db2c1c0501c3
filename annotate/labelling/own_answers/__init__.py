"""An annotator's own answers."""
