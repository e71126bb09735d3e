"""The window that was opened last, to which scenes belong that no window made."""

import weakref

_window = None


def opened(window):
    """Remembers a window, without keeping it."""
    global _window
    _window = weakref.ref(window)


def window():
    """The window; None if there is none."""
    return None if _window is None else _window()
