"""Starting a project."""
