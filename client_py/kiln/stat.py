"""Statistics of a program's compilations: named counters, summed over all kernels.

With `KILN_STAT=on` the compiler counts the operations of each kernel, and compiles every kernel
without using the cache; :func:`print_stat` shows the sums. Programs may add their own counters:

    ti._lib.core.stat.add("frames")
    ti._lib.core.print_stat()
"""

import os

wanted = os.environ.get("KILN_STAT", "off") == "on"
_counters = {}


def add(name, value=1.0):
    """Adds `value`, a number, to counter `name`."""
    _counters[name] = _counters.get(name, 0.0) + float(value)


def get():
    """The current counters: a dict from name to float."""
    return dict(_counters)


def clear():
    _counters.clear()


def print_stat():
    """Prints all counters, sorted by name."""
    for name in sorted(_counters):
        print(f"{name:<48}{_counters[name]:.12g}")


def record(instance):
    """Adds the compiler's counts for an instance: the number of operations after each stage; after
    the last stage, which becomes machine code, also the tasks and each kind of operation."""
    counted = [(name, operations) for name, _, _, operations in instance.stages if operations]
    if not counted:
        return
    # For a stage that runs twice, the second run counts.
    for stage, operations in dict(counted).items():
        add(f"statements_after_{stage}", sum(operations.values()))
    operations = counted[-1][1]
    add("codegen_kernels")
    add("codegen_statements", sum(operations.values()))
    for kind, count in operations.items():
        if kind.startswith("kiln.task."):
            add("codegen_offloaded_tasks", count)
        add(f"codegen_{kind}", count)
