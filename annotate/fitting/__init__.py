"""From labels to a published fit: scheduling, reading, estimators, storing."""
