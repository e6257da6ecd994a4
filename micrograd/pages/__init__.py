"""Self-contained HTML pages: they need no server, no network and no installation.

For readers who cannot see them, or not well: axe-core 4 finds no violation of WCAG 2.2, levels A
and AA, on the stepping page, the training page (with a point, pasted data and a script open), a
report of `grade`, and a drawing in a notebook's cell, in light and dark colours. A test repeats
this. Drawings describe their graph in words (`described` in `draw/render.py`), pictures on pages
have such texts in `texts.toml`, and everything can be reached by keyboard.

What no program can find is not checked: whether the descriptions are enough to follow a backward
pass without seeing it. The maps of single neurons are described by the name, output and gradient of
the neuron only.
"""
