"""What annotators may add and see."""
