"""Which files are Kiln's own: frames and functions of theirs are none of the program's."""

FOLDER = __file__.rsplit("/", 1)[0] + "/"


def is_own(path):
    """Whether that is a file of this package."""
    return path.startswith(FOLDER)
