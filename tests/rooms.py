"""The files and folders of the package, in reading order: each imports earlier ones only."""

ROOMS = [
    *("arithmetic", "pause", "engine", "shapes", "derivatives", "arrays", "nn", "losses", "rows"),
    *("optim", "datasets", "source", "trace", "files"),
    *("draw", "pages", "plot", "compiler", "grade", "__main__"),
]
