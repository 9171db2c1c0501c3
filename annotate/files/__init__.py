"""Reading and writing tables and other files."""
