"""Ranks the competitors behind a project's items, in the process of a fit."""
