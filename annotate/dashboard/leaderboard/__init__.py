"""Shows the leaderboard of competitors that a fit stored."""
