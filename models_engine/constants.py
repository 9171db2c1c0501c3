"""Numbers that several modules share; imports nothing, so that the site can use them without loading scipy."""

__all__ = ["MIN_LABELS_TO_CHOOSE", "Z90"]

MIN_LABELS_TO_CHOOSE = 50  # below which estimators are not compared by what they predict
Z90 = 1.6448536269514722  # standard deviations from the mean to either end of a 90% interval of a normal distribution
