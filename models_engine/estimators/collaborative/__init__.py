"""CollaborativeGP: a consensus and every annotator's own taste, learned together."""
