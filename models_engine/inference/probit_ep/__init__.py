"""Expectation propagation with probit sites, for all annotators at once."""
