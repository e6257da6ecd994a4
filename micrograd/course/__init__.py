"""The course: one HTML file with Python, this package, Graphviz and an editor inside.

    micrograd course -o course.html
    micrograd course -o course.html --tasks my_chapters/ --texts my_texts.toml

The file opens by a double click, needs no installation, and never uses the network. `build.py`
makes it; all other modules run in the page. Its texts are in `micrograd/texts/`, one file for each
language.

A chapter of your own is a folder, as in `demos/chapters/softmax`; `--tasks` takes the folder
around it. Your chapters come after the eight of the course, and need none of them.

    text.md       "# Label: Title", the text, "## Task", and "## Picture" with its caption
    start.py      what is put below the learner's program; its first line is a comment
    tests.py      functions test_...(check), in order; the first paragraph of each docstring says
                  what is wrong, the second how to fix it; check("f(2)", 4) compares
    picture.py    a function picture() that returns a drawing or a page of micrograd (optional)
    solution.py   what the page shows after the third hint (optional)

In the file, tests and solutions are packed: they are not there as plain text, but not secret.

The page was tried in Chromium 156, in Firefox 153.7 ESR, and in WebKitGTK 2.50.6, the nearest
thing to Safari that runs on Linux. By the documentation of what it uses (`import` in workers,
streams that decompress, WebAssembly under a content security policy, container queries), it should
work in Chrome and Edge from 105, Firefox from 114 and Safari from 16.4, on any system.
"""
