"""Learning platforms (LTI 1.3): launches into a project, and grades back."""
