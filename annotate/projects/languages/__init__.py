"""A project's languages: its own, further ones, and what is translated into them."""
