"""The output of `kiln run` about kernels and frames."""

import io
import time

import pytest
from kiln import events
from kiln import progress as module
from kiln.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_run_without_kernels_and_frames_is_silent():
    out = io.StringIO()
    Progress(events, out).summary()
    assert out.getvalue() == ""


def test_many_kernels_are_one_line():
    out = io.StringIO()
    progress = Progress(events, out)
    for number in range(50):
        with events.compiling(f"k{number}"):
            events.kernel_ready(f"k{number}", "compiled", 0.2, 0.2)
    progress.summary()
    assert out.getvalue() == "kernels 50  hits 0  misses 50  saved 0.0 ms\n"


def test_a_long_compilation_is_mentioned_while_it_lasts(monkeypatch):
    monkeypatch.setattr(module, "_LONG_SECONDS", 0.1)
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
    out = io.StringIO()
    progress = Progress(events, out)
    with events.compiling("step"):
        end = time.monotonic() + 60
        while out.getvalue().count("step  compiling for ") < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        events.kernel_ready("step", "compiled", 0.5, 0.5)
    with pytest.raises(ZeroDivisionError), events.compiling("wrong"):
        1 / 0
    progress.summary()
    assert out.getvalue().splitlines()[-2:] == [
        "step  compiled 500 ms",
        "kernels 1  hits 0  misses 1  saved 0.0 ms",
    ]
    assert not progress._waiting


def test_kernel_lines_and_summary():
    out = io.StringIO()
    progress = Progress(events, out, verbose=True)
    events.kernel_ready("substep", "compiled", 0.18, 0.17)
    events.kernel_ready("init", "disk", 0.0003, 0.0503)
    progress.summary()
    assert out.getvalue().splitlines() == [
        "substep  compiled 180 ms",
        "init  cached 0.3 ms",
        "kernels 2  hits 1  misses 1  saved 50 ms",
    ]
    events.kernel_ready("late", "compiled", 1, 1)
    assert "late" not in out.getvalue()


def test_frames_are_counted():
    out = io.StringIO()
    progress = Progress(events, out)
    for number in events.frames(5):
        events.frame(number)
    progress.summary()
    lines = out.getvalue().splitlines()
    assert lines[-2].startswith("frame 5/5  ")
    assert "frames 5  " in lines[-1] and lines[-1].endswith("frames/s")


def test_a_terminal_gets_a_bar_that_lines_replace():
    out = Terminal()
    progress = Progress(events, out, total=2, verbose=True)
    events.frame(1)
    events.frame(2)
    events.kernel_ready("late", "memory", 0.001, 0.001)
    progress.summary()
    assert "[" + "#" * 30 + "] frame 2/2" in out.getvalue()
    assert "\r\x1b[Klate  cached 1.0 ms\n" in out.getvalue()


def test_thousands_of_kernels_stay_readable():
    out = io.StringIO()
    progress = Progress(events, out, verbose=True)
    for _ in range(5000):
        events.kernel_ready("k", "disk", 0.001, 0.01)
    progress.summary()
    lines = out.getvalue().splitlines()
    assert len(lines) == 102 and "kernels 5000" in lines[-1]
