"""The task as annotators will see it."""
