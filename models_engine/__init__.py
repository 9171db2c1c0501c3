"""The statistics of Crowdrank: a posterior over utilities from comparisons. See README.md in this folder."""

__version__ = "0.1.0"
