"""Self-contained HTML pages: they need no server, no network and no installation.

Tests check with axe-core that no page violates WCAG 2.2, levels A and AA, in light and dark.
"""
