"""Ideas of annotators: proposing, deciding, what becomes of them."""
