"""Forms of a covariance of utilities: dense, low rank, and sparse over the graph of comparisons."""
