"""Self-contained HTML pages: they need no server, no network and no installation.

For readers who cannot see them, or not well: axe-core finds no violation of WCAG 2.2, levels A
and AA, on the stepping page, the training page (with a point, pasted data and a script open), a
report of `grade`, and a drawing in a notebook's cell, in light and dark colours. A test repeats
this. Drawings describe their graph in words (`described` in `draw/render.py`).

Not checked: the page of a recorded run, the course and the site; and whether the descriptions are
enough to follow a backward pass without seeing it, which no program can find.
"""
