"""Self-contained HTML pages: they need no server, no network and no installation.

For readers who cannot see them, or not well: axe-core finds no violation of WCAG 2.2, levels A
and AA, on any page (with a point, pasted data and a script open, with gradients shown), the reports
of `grade`, the course, and a drawing in a notebook's cell, in light and dark colours. Tests repeat
this. Drawings describe their graph in words (`described` in `draw/render.py`).

No program can check whether the descriptions are enough to follow a backward pass without sight.
"""
