"""Numbers that several modules share; imports nothing, so that the site can use them without loading scipy."""

__all__ = ["Z90"]

Z90 = 1.6448536269514722  # standard deviations from the mean to either end of a 90% interval of a normal distribution
