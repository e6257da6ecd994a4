"""The files and folders of the package, in reading order: each imports earlier ones only."""

ROOMS = [
    *("core", "engine", "operations", "derivatives", "arrays", "module", "nn", "losses", "optim"),
    *("datasets", "texts", "program", "draw", "watching"),
    *("compiler", "pages", "plot", "grade", "course"),
    "__main__",
]
