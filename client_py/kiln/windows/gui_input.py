"""What the user does in a window of `ti.GUI`: events, keys and the position of the mouse."""


class Event:
    """An input event. It has a `type` (PRESS, RELEASE, MOTION), a `key`, the `pos` of the mouse
    and the `delta` of the wheel. `modifier` holds the names of the keys that are held down with
    it. Without a window, the only one is the Escape that ends a program."""

    def __init__(self, type=None, key=None, pos=(0.0, 0.0), delta=(0, 0), modifier=()):
        self.type, self.key = type, key
        self.modifier, self.pos, self.delta = list(modifier), pos, delta


class EventFilter:
    """Matches events by type, by key, or by (type, key)."""

    def __init__(self, *wanted):
        self.filter = {tuple(w) if isinstance(w, list) else w for w in wanted}

    def match(self, event):
        return not self.filter.isdisjoint(((event.type, event.key), event.type, event.key))


class Input:
    """Base class of GUI, which has `res`, the size of the canvas, `_screen`, the native window or
    None, and `_on_screen`, which calls a method of it."""

    SHIFT, ALT, CTRL, ESCAPE = "Shift", "Alt", "Control", "Escape"
    RETURN, TAB, BACKSPACE, SPACE = "Return", "Tab", "BackSpace", " "
    UP, DOWN, LEFT, RIGHT = "Up", "Down", "Left", "Right"
    CAPSLOCK, LMB, MMB, RMB = "Caps_Lock", "LMB", "MMB", "RMB"
    EXIT, WHEEL, MOVE = "WMClose", "Wheel", "Motion"
    MOTION, PRESS, RELEASE = "EType.Move", "EType.Press", "EType.Release"

    Event = Event
    EventFilter = EventFilter

    def __init__(self):
        self.event = None
        self.key_pressed = set()
        self._running = True
        self._events = []
        self._cursor = (0.0, 0.0)

    def has_key_event(self):
        """Whether `get_key_event` has an event to return."""
        self._pump()
        return bool(self._events)

    def get_key_event(self):
        """The next event; waits for one. Without a display it ends the program instead of waiting,
        because no key can be pressed."""
        import time

        while not self.has_key_event():
            if self._screen is None:
                raise SystemExit("GUI.get_key_event: there is no display, so no key can be pressed")
            time.sleep(0.01)
        return self._taken(self._events.pop(0))

    def get_events(self, *wanted):
        """The events that match; others are dropped, except the Escape that ends a program.

        wanted: types, keys or (type, key) pairs; without any, all events match.
        """
        match = self.EventFilter(*wanted).match if wanted else lambda event: True
        self._pump()
        for event in self._events[:]:
            # Without a window, keep an Escape that does not match for a call that asks for it.
            if not match(event) and self._screen is None:
                continue
            if event not in self._events:
                continue  # a nested call has taken it
            self._events.remove(event)
            self._taken(event)
            if match(event):
                yield event

    def get_event(self, *wanted):
        """Whether a matching event happened; if so, `self.event` is that event.

        wanted: types, keys or (type, key) pairs; without any, all events match.
        """
        for event in self.get_events(*wanted):
            self.event = event
            return True
        return False

    def is_pressed(self, *keys):
        """Whether any of the keys or buttons of the mouse is held down; "Shift" means either shift
        key.

        keys: names such as "a", `GUI.UP` or `GUI.LMB`.
        """
        self._pump()
        return any(
            key in self.key_pressed
            or f"{key}_L" in self.key_pressed
            or f"{key}_R" in self.key_pressed
            for key in keys
        )

    def get_cursor_pos(self):
        """The position of the mouse in [0, 1] x [0, 1]; (0.0, 0.0) without a display."""
        self._pump()
        return self._cursor

    def _taken(self, event):
        """Notes which keys are held down, by an event that the program takes."""
        if event.type == self.PRESS:
            self.key_pressed.add(event.key)
        elif event.type == self.RELEASE:
            self.key_pressed.discard(event.key)
        return event

    def _pump(self):
        """Takes the events that are pending on the screen."""
        if self._screen is None:
            return
        for kind, key, x, y, dx, dy, modifier in self._on_screen("poll"):
            if kind == "close":
                self._running = False
                self._events.append(self.Event(None, self.EXIT))
                continue
            if kind == "move" or key in _BUTTONS:
                self._cursor = (x / self.res[0], 1 - y / self.res[1])
            if kind in _TYPES:
                kind, key = _TYPES[kind], _KEYS.get(kind, key)
                delta = (int(dx * _WHEEL_STEP), int(dy * _WHEEL_STEP))
                self._events.append(self.Event(kind, key, self._cursor, delta, modifier))
        del self._events[:-_MOST_EVENTS]  # of a program that asks for none


_BUTTONS = (Input.LMB, Input.MMB, Input.RMB)
_MOST_EVENTS = 1024
_WHEEL_STEP = 120  # what programs know as one step of the wheel
_TYPES = {
    "press": Input.PRESS,
    "release": Input.RELEASE,
    "move": Input.MOTION,
    "wheel": Input.MOTION,
}
_KEYS = {"move": Input.MOVE, "wheel": Input.WHEEL}
