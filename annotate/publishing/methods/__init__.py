"""The methods page: how a ranking was computed, ready to be cited."""
