"""Projects: settings, members, set-up, copies."""
