"""The site as real processes, hurt in every way an operator may meet, and what came of the answers."""
