"""EP for thousands of items: tastes of low rank plus a diagonal, in memory that grows as items, annotators, labels."""
