"""Counters of the compiler's operations, and programs' own counters."""

PROGRAM = """
import kiln as ti
from kiln.lang import core

ti.init(ti.cpu)
x = ti.field(ti.f32, 8)

@ti.kernel
def fill():
    for i in x:
        x[i] = i
    for i in range(8):
        x[i] += 1

fill()
core.stat.add("frames")
core.stat.add("frames", 2)
core.print_stat()
"""


def counters(text):
    return {name: float(value) for name, value in map(str.split, text.splitlines())}


def test_counters_of_compilations(run_python):
    for _ in range(2):  # the second time the kernel is in the cache
        found = counters(run_python(PROGRAM, KILN_STAT="on"))
        assert found["frames"] == 3
        assert found["codegen_kernels"] == 1
        assert found["codegen_offloaded_tasks"] == 2
        assert found["codegen_kiln.task.range_for"] == 2
        assert found["codegen_kiln.store"] == 2
        assert found["codegen_statements"] > 10 and found["statements_after_lower"] > 10


def test_nothing_is_counted_by_default(run_python):
    assert counters(run_python(PROGRAM, KILN_STAT="off")) == {"frames": 3}
