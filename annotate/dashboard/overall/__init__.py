"""The weighted total of a project's criteria."""
