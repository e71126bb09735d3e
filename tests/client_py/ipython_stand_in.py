"""What stands in for IPython where it is not installed: a notebook's shell and its output."""

import sys
import types


class Image:
    def __init__(self, data):
        self.data = data


class Handle:
    """Of a picture that was displayed: `shown` has all that took its place."""

    def __init__(self, image):
        self.shown = [image]

    def update(self, image):
        self.shown.append(image)


class Shell:
    """A notebook's shell, which is its own `events`."""

    kernel = "the process of the notebook"

    def __init__(self):
        self.events = self
        self.callbacks = []
        self.magics = {}
        self.outputs = []  # what the cells displayed

    def register(self, event, callback):
        self.callbacks.append((event, callback))

    def unregister(self, event, callback):
        self.callbacks.remove((event, callback))

    def register_magic_function(self, function, kind, name):
        self.magics[name] = function, kind

    def display(self, image, display_id=None):
        self.outputs.append(Handle(image))
        return self.outputs[-1] if display_id else None

    def end_cell(self):
        for event, callback in list(self.callbacks):
            if event == "post_run_cell":
                callback("the result")


def install(monkeypatch):
    """Makes this process a notebook; returns its shell."""
    shell = Shell()
    modules = {name: types.ModuleType(name) for name in ("IPython", "IPython.display")}
    modules["IPython.display"].Image = Image
    modules["IPython.display"].display = shell.display
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    return shell
