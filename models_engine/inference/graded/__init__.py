"""Graded answers to pairs (clearly, slightly, tie) as an ordered likelihood with learned cut points."""
