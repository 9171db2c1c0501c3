"""Running the site: backups, daily cleanup, health."""
