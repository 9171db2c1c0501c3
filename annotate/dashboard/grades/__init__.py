"""Grades: boundaries on the ranking, and the probability of each grade for each item."""
