"""Bradley-Terry with ties (Davidson): mode, variational Gaussian, moments."""
