"""The statistics of Crowdrank: comparisons in, a posterior over utilities out. See README.md in this folder."""

__version__ = "0.1.0"
