"""Runs one program for bench/examples.py and prints when its frames were shown, as JSON.

    examples_program.py kiln|taichi PROGRAM FRAMES SECONDS START

Both sides have Kiln's GUI, so that drawing costs the same, a window that only records, and no
plots (tools/compare_with_taichi.py). Times are seconds since START (time.time() of the caller).
The program is ended after FRAMES frames, or at the first one SECONDS after the first.
"""

import json
import os
import pathlib
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import compare_with_taichi  # noqa: E402
import headless_window  # noqa: E402


def main():
    side, path, frames, limit, start = sys.argv[1:]
    start = float(start)
    shown = []
    gui = compare_with_taichi.prepare(side).GUI
    if side == "kiln":
        import kiln

        headless_window.install(kiln.ui, gui)  # as `prepare` does for Taichi
    show = gui.show

    def timed_show(self, *args, **options):
        show(self, *args, **options)
        shown.append(time.time() - start)
        if len(shown) >= int(frames) or shown[-1] - shown[0] > float(limit):
            raise SystemExit

    gui.show = timed_show
    program = types.ModuleType("__main__")
    program.__file__ = path
    sys.modules["__main__"] = program
    sys.argv = [path]
    sys.path[0] = os.path.dirname(path)
    source = pathlib.Path(path).read_text()
    # Redirect the program's own output; only the last line is the result.
    saved = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        exec(compile(source, path, "exec"), program.__dict__)
    except SystemExit:
        pass
    end = time.time() - start
    sys.stdout.flush()
    os.dup2(saved, 1)
    print(json.dumps({"frames": shown, "end": end}), flush=True)
    os._exit(0)


main()
