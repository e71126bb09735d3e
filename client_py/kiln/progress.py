"""The progress display of `kiln run` on stderr: long compilations, a bar over frames, a summary."""

import sys
import time
from _thread import get_ident, start_new_thread

_LONG_SECONDS = 3.0  # mention a compilation after this time, and whenever its time has doubled
_LOOK_SECONDS = 0.25
_MAX_LINES = 100  # of kernels, with `verbose`
_REDRAW_SECONDS = 0.05
_LINE_SECONDS = 2.0


class Progress:
    """Listens to the events of one run and prints; `summary` ends it.

    verbose: prints a line for each kernel; otherwise only for those that take long to compile.
    """

    def __init__(self, events, out=None, total=None, verbose=False):
        self._events = events
        self._out = out or sys.stderr
        self._tty = self._out.isatty()
        self._total = total
        self._verbose = verbose
        self._waiting = {}  # thread -> _Wait
        self._watching = False  # whether a thread checks them
        self._kernels = self._hits = self._misses = 0
        self._saved = 0.0
        self._frames = 0
        self._first = self._last = None  # when the first and the latest frame were shown
        self._shown = 0.0
        self._bar = False
        self._ends = (
            events.on_kernel(self._kernel),
            events.on_compile(self._compile),
            events.on_frame(self._frame),
            events.on_total(self._expect),
        )

    def summary(self):
        """Prints totals and stops listening."""
        for end in self._ends:
            end()
        self._waiting.clear()
        self._wipe()
        if not self._kernels and not self._frames:
            return
        parts = [f"kernels {self._kernels}", f"hits {self._hits}", f"misses {self._misses}"]
        parts.append(f"saved {_duration(self._saved)}")
        if self._frames:
            rate = self._rate()
            parts.append(f"frames {self._frames}" + (f"  {rate:.1f} frames/s" if rate else ""))
        self._print("  ".join(parts))

    def _kernel(self, name, tier, wait_seconds, compile_seconds, _instance):
        self._kernels += 1
        if self._events.is_hit(tier):
            self._hits += 1
            self._saved += max(compile_seconds - wait_seconds, 0.0)
            what = "cached"
        else:
            self._misses += 1
            what = "compiled"
        if wait_seconds >= _LONG_SECONDS or (self._verbose and self._kernels <= _MAX_LINES):
            self._print(f"{name}  {what} {_duration(wait_seconds)}")
        elif self._verbose and self._kernels == _MAX_LINES + 1:
            self._print("more kernels follow; the summary counts them")

    def _compile(self, name):
        if name is None:
            self._waiting.pop(get_ident(), None)
            return
        self._waiting[get_ident()] = _Wait(name)
        if not self._watching:
            self._watching = True
            start_new_thread(self._watch, ())

    def _watch(self):
        """Thread that mentions long compilations; ends when no compilation is under way."""
        while self._waiting:
            time.sleep(_LOOK_SECONDS)
            for wait in list(self._waiting.values()):
                seconds = time.perf_counter() - wait.start
                if seconds >= wait.mention:
                    wait.mention *= 2
                    self._print(f"{wait.name}  compiling for {seconds:.0f} s")
        self._watching = False

    def _expect(self, total):
        self._total = total

    def _frame(self, _count):
        now = time.perf_counter()
        self._frames += 1
        self._last = now
        if self._first is None:
            self._first = self._shown = now
        if self._tty:
            if now - self._shown >= _REDRAW_SECONDS or self._frames == self._total:
                self._draw(now)
        elif self._frames == self._total or now - self._shown >= _LINE_SECONDS:
            self._shown = now
            self._print(self._position())

    def _rate(self):
        """Frames per second, excluding the first frame, which waits for the compiler."""
        if self._frames < 2 or self._last <= self._first:
            return 0.0
        return (self._frames - 1) / (self._last - self._first)

    def _position(self):
        of = f"/{self._total}" if self._total else ""
        return f"frame {self._frames}{of}  {self._rate():.1f} frames/s"

    def _draw(self, now):
        self._shown = now
        bar = ""
        if self._total:
            done = min(30 * self._frames // self._total, 30)
            bar = "[" + "#" * done + " " * (30 - done) + "] "
        # The cursor returns to the start of the line, so the program's own output replaces the bar.
        self._out.write(f"\r\x1b[K{bar}{self._position()}\r")
        self._out.flush()
        self._bar = True

    def _wipe(self):
        if self._bar:
            self._out.write("\r\x1b[K")
            self._bar = False

    def _print(self, line):
        try:
            self._wipe()
            self._out.write(line + "\n")
            self._out.flush()
        except (OSError, ValueError):  # stderr is closed, which must not stop the program
            pass


class _Wait:
    """A compilation for which a thread is waiting."""

    def __init__(self, name):
        self.name = name
        self.start = time.perf_counter()
        self.mention = _LONG_SECONDS


def _duration(seconds):
    if seconds < 0.01:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"
