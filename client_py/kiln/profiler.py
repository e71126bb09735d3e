"""How long kernels took: totals of the launches that the runtime records.

A launch is recorded (`record`) while `enabled` is true, which `ti.init(kernel_profiler=True)` makes
it. Metrics of CUDA's profiler belong to devices that Kiln does not drive yet.
"""

import contextlib
import time

enabled = False
_records = {}  # kernel name -> [count, least, most, total] seconds
_scopes = {}  # the same for scopes


class CuptiMetric:
    """A metric of CUDA's profiler; kept for programs that name one."""

    def __init__(self, name="", header="unnamed_header", val_format="     {:8.0f} ", scale=1.0):
        self.name, self.header, self.val_format, self.scale = name, header, val_format, scale


class KernelProfilerQueryResult:
    """What `query_kernel_profiler_info` gives: milliseconds."""

    def __init__(self, count, least, most, total):
        self.counter = count
        self.min, self.max = least * 1e3, most * 1e3
        self.avg = total / count * 1e3 if count else 0.0


def record(name, seconds):
    """Adds one launch of the kernel `name`."""
    _add(_records, name, seconds)


@contextlib.contextmanager
def scope(name):
    """Times a block for `print_scoped_profiler_info`."""
    start = time.perf_counter()
    try:
        yield
    finally:
        _add(_scopes, name, time.perf_counter() - start)


def print_kernel_profiler_info(mode="count"):
    """Prints the launches: a row a kernel ("count") or the same without averages ("trace")."""
    if mode not in ("count", "trace"):
        raise ValueError(f"mode must be 'count' or 'trace', not {mode!r}")
    _print("Kernel profiler", _records)


def query_kernel_profiler_info(name):
    """Count, least, most and average time of a kernel's launches."""
    return KernelProfilerQueryResult(*_records.get(name, (0, 0.0, 0.0, 0.0)))


def get_kernel_profiler_total_time():
    """Seconds spent in all recorded launches."""
    return sum(total for _, _, _, total in _records.values())


def clear_kernel_profiler_info():
    _records.clear()


def print_scoped_profiler_info():
    _print("Scoped profiler", _scopes)


def clear_scoped_profiler_info():
    _scopes.clear()


def print_memory_profiler_info():
    """Prints how much memory this process holds."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(("VmRSS", "VmHWM")):
                print(line.rstrip())


def set_kernel_profiler_toolkit(toolkit_name="default"):
    """Whether the toolkit is there: only the default one is."""
    return toolkit_name == "default"


def set_kernel_profiler_metrics(metric_list=None):
    """Accepted: there is no device whose metrics could be collected."""


@contextlib.contextmanager
def collect_kernel_profiler_metrics(metric_list=None):
    """Accepted, as set_kernel_profiler_metrics."""
    yield


def get_predefined_cupti_metrics(name=""):
    return []


def _add(table, name, seconds):
    row = table.setdefault(name, [0, seconds, seconds, 0.0])
    row[0] += 1
    row[1], row[2], row[3] = min(row[1], seconds), max(row[2], seconds), row[3] + seconds


def _print(title, table):
    print(f"{title}: {sum(row[0] for row in table.values())} launches")
    whole = sum(row[3] for row in table.values()) or 1.0
    print("[      %     total   count |      min       avg       max   ] name")
    for name, (count, least, most, total) in sorted(table.items(), key=lambda item: -item[1][3]):
        print(
            f"[{total / whole:7.2%} {total:8.3f} s {count:7} |"
            f"{least * 1e3:9.3f} {total / count * 1e3:9.3f} {most * 1e3:9.3f} ms] {name}"
        )


__all__ = [
    "CuptiMetric",
    "clear_kernel_profiler_info",
    "clear_scoped_profiler_info",
    "collect_kernel_profiler_metrics",
    "get_kernel_profiler_total_time",
    "get_predefined_cupti_metrics",
    "print_kernel_profiler_info",
    "print_memory_profiler_info",
    "print_scoped_profiler_info",
    "query_kernel_profiler_info",
    "set_kernel_profiler_metrics",
    "set_kernel_profiler_toolkit",
]
