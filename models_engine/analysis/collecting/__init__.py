"""Simulated collections: answers that arrive one by one, asked for by a rule, from fits that lag behind."""
