"""Tags of annotators."""
