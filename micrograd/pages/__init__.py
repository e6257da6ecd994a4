"""Self-contained HTML pages: they need no server, no network and no installation."""
