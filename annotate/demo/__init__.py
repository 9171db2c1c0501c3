"""The demo: a town's ideas, drawn posters, and a simulated crowd that compares them; or a folder of real data."""
