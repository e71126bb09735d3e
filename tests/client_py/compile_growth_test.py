"""Compile time grows with a kernel's size, not with its square."""

import importlib.util
import time

import kiln as ti
import pytest

SMALL, FACTOR = 500, 6
# Linear growth gives FACTOR, and a square FACTOR * FACTOR. In between is room for a busy machine.
MOST = 3 * FACTOR


def compiled(folder, kind, statements, salt):
    """The seconds of a first launch: no two salts give the same code."""
    lines = ["import kiln as ti", "x, y = ti.field(ti.f32, 256), ti.field(ti.f32, 256)"]
    lines += ["@ti.kernel", "def k():", "    for i in range(64):", "        a, b = x[i], y[i]"]
    for s in range(statements):
        c = salt * 100 + s % 97 + 0.5
        if kind == "arithmetic":
            lines.append(f"        a = a * {c} + b" if s % 2 else f"        b = ti.max(b - a, {c})")
        else:
            lines.append(
                (
                    f"        a += x[i + {s % 61}] * {c}",
                    f"        y[i + {s % 53}] = a + {c}",
                    f"        b = b * a + {c}",
                )[s % 3]
            )
    lines += ["        x[i] = a", "        y[i] = b"]
    path = folder / f"{kind}_{statements}_{salt}.py"
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    start = time.perf_counter()
    module.k()
    return time.perf_counter() - start


@pytest.mark.parametrize("kind", ("arithmetic", "memory"))
def test_statements_one_after_the_other(tmp_path, kind):
    ti.init(ti.cpu)
    compiled(tmp_path, kind, 10, 0)
    seconds = {SMALL: [], SMALL * FACTOR: []}
    for salt in range(1, 4):
        for statements, found in seconds.items():
            found.append(compiled(tmp_path, kind, statements, salt))
    small, large = (min(found) for found in seconds.values())
    assert large < MOST * small, seconds
