"""Images, sound and video in bulk."""
