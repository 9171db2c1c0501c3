"""Comments on items, their release to the people behind the items, and the links that show them."""
