"""The time before each kernel's first launch: front end, and waiting for code."""

from .. import events


def print_scoped_profiler_info():
    """Prints how long the program waited for the code of each kernel made since the last clear.
    Also prints how long compiling took, now or when the cached entry was made.

        ti.profiler.print_scoped_profiler_info()  # prints anything
    """
    kernels = {}
    for (name, tier), (count, wait, compiling) in events.made.items():
        row = kernels.setdefault(name, [0, 0.0, 0.0, {}])
        row[0] += count
        row[1] += wait
        row[2] += compiling
        row[3][tier] = count
    print("[Scoped Profiler] instances of kernels, milliseconds")
    print("  count       waited   compilation  from")
    for name, (count, wait, compiling, tiers) in sorted(kernels.items(), key=lambda k: -k[1][1]):
        origin = ", ".join(f"{tier} {number}" for tier, number in sorted(tiers.items()))
        print(f"{count:6d}x {wait * 1e3:12.3f} {compiling * 1e3:13.3f}  {origin}  {name}")


def clear_scoped_profiler_info():
    """Drops the instances recorded so far.

    Example::

        ti.profiler.clear_scoped_profiler_info()
    """
    events.made.clear()


__all__ = ["clear_scoped_profiler_info", "print_scoped_profiler_info"]
