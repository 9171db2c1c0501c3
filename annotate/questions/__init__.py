"""Questions that the owner gives: pages, operations, and what is right of a question."""
