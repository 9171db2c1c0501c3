"""The pictures of README.md and docs/, taken from the demo."""
