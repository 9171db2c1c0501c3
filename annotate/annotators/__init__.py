"""Annotators as owners see them: list, page, tags, conflicts of interest, tastes, cohorts."""
