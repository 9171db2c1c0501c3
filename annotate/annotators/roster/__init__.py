"""The roster: people whom the owner expects, each with a personal link."""
