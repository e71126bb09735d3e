"""The memory used by the process and its fields."""


def print_memory_profiler_info():
    """Prints the memory used by each tree of fields and by the whole process.

    Example::

        ti.profiler.print_memory_profiler_info()  # prints anything
    """
    import sys

    from .. import runtime

    runtime.require_init("print memory")
    print("[Memory Profiler]")
    trees = sys.modules.get(f"{__package__.rpartition('.')[0]}.data.trees")
    for number, (names, size) in enumerate(trees.tree_sizes() if trees else ()):
        print(f"tree {number}: {size:14,} bytes  {', '.join(names)}")
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(("VmRSS", "VmHWM")):
                kind, amount, _ = line.split()
                what = "resident" if kind == "VmRSS:" else "resident, at most"
                print(f"process: {int(amount) * 1024:11,} bytes  {what}")


__all__ = ["print_memory_profiler_info"]
