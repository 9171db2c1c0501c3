"""Approximate inference over arrays: nothing here knows what an item or an annotator is called."""
