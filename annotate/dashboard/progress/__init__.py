"""Progress and forecasts."""
