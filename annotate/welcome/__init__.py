"""What visitors and newcomers meet: the first page with a duel, help, the tour, and an example to play with."""
