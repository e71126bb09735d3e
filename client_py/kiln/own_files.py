"""Distinguishes Kiln's own files, and so its frames and functions, from the program's."""

FOLDER = __file__.rsplit("/", 1)[0] + "/"


def is_own(path):
    """Whether `path` is a file of this package."""
    return path.startswith(FOLDER)
