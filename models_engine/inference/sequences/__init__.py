"""Sequences of tokens by annotator: what comes next, by counts or by a recurrent network."""
