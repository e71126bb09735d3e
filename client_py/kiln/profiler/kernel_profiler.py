"""Times of kernel launches, as totals or one by one.

With `ti.init(kernel_profiler=True)` the native side calls `record` after each launch. Otherwise it
calls nothing, and the profiler costs no time.
"""

import contextlib

from .. import _native, runtime
from ..compat.absent import absent_function
from .kernel_metrics import default_cupti_metrics

_launches = []  # (kernel name, milliseconds), in order
# Those after them on a CUDA device, which may not have run yet: (kernel name, LaunchTime).
_running = []
_MOST_RUNNING = 4096


class KernelProfilerQueryResult:
    """The launches of a kernel: their number `counter`, and `min`, `max`, `avg` in milliseconds."""

    def __init__(self, times):
        self.counter = len(times)
        self.min, self.max = min(times, default=0.0), max(times, default=0.0)
        self.avg = sum(times) / len(times) if times else 0.0


def record(name, time):
    """Adds one launch of the kernel `name`. time: seconds, or a LaunchTime of a CUDA device."""
    if isinstance(time, float):
        _launches.append((name, time * 1e3))
        return
    _running.append((name, time))
    if len(_running) == _MOST_RUNNING:  # the first half has run, most likely
        _finish(_MOST_RUNNING // 2)


def _finish(count):
    """Waits for the first launches of those that may still run."""
    _launches.extend((name, time.seconds() * 1e3) for name, time in _running[:count])
    del _running[:count]


def _finished():
    """All launches, for which it waits."""
    _finish(len(_running))
    return _launches


def _drop():
    _launches.clear()
    _running.clear()


def start_profiler():
    """Starts a profile: drops earlier launches and records later ones."""
    _drop()
    _native.set_profiler(record)


def print_kernel_profiler_info(mode="count"):
    """Prints the launches.

    Args:
        mode: "count" prints one line per kernel with its share and total of the time, its number of
            launches, and their minimum, average and maximum time; "trace" prints one line per
            launch, in order.

    Example::

        ti.init(kernel_profiler=True)
        ti.profiler.print_kernel_profiler_info("count")  # prints anything
    """
    if _is_off():
        return
    if mode == "count":
        _print_count()
    elif mode == "trace":
        _print_trace()
    else:
        raise ValueError("Arg `mode` must be of type 'str', and has the value 'count' or 'trace'.")


def query_kernel_profiler_info(name):
    """A kernel's launches since they were last cleared: `counter`, and `min`, `max` and `avg` in
    milliseconds. None if the profiler is off.

    name: the kernel's name.

        ti.init(arch=ti.cpu, kernel_profiler=True)

        @ti.kernel
        def work():
            pass

        work()
        print(ti.profiler.query_kernel_profiler_info("work").counter)  # prints: 1
    """
    if _is_off():
        return None
    return KernelProfilerQueryResult([time for kernel, time in _finished() if kernel == name])


def get_kernel_profiler_total_time():
    """Seconds spent in all recorded launches.

    Example::

        ti.init(arch=ti.cpu, kernel_profiler=True)
        print(ti.profiler.get_kernel_profiler_total_time())  # prints: 0.0
    """
    return 0.0 if _is_off() else sum(time for _, time in _finished()) / 1e3


def clear_kernel_profiler_info():
    """Drops the recorded launches.

    Example::

        ti.init(arch=ti.cpu, kernel_profiler=True)
        ti.profiler.clear_kernel_profiler_info()
    """
    if not _is_off():
        _drop()


def set_kernel_profiler_toolkit(toolkit_name="default"):
    """Whether a toolkit is available: only "default" is, because no device has counters.

    toolkit_name: "default" or "cupti".

        ti.init(arch=ti.cpu, kernel_profiler=True)
        print(ti.profiler.set_kernel_profiler_toolkit("default"))  # prints: True
    """
    if _is_off():
        return False
    if toolkit_name != "default":
        runtime._warn(
            f"Failed to set kernel profiler toolkit ({toolkit_name}) , keep using (default)."
        )
    return toolkit_name == "default"


def set_kernel_profiler_metrics(metric_list=default_cupti_metrics):
    """Drops the recorded launches, as the reference does. No device collects the metrics.

    metric_list: CuptiMetric objects.

        ti.init(arch=ti.cpu, kernel_profiler=True)
        ti.profiler.set_kernel_profiler_metrics()
    """
    clear_kernel_profiler_info()


@contextlib.contextmanager
def collect_kernel_profiler_metrics(metric_list=default_cupti_metrics):
    """Context manager that calls `set_kernel_profiler_metrics` at its beginning and end.

    metric_list: CuptiMetric objects.

        ti.init(arch=ti.cpu, kernel_profiler=True)
        with ti.profiler.collect_kernel_profiler_metrics():
            pass
    """
    set_kernel_profiler_metrics(metric_list)
    yield
    set_kernel_profiler_metrics()


get_default_kernel_profiler = absent_function(
    "profiler.kernel_profiler.get_default_kernel_profiler"
)


def _is_off():
    if runtime.cfg.kernel_profiler:
        return False
    runtime._warn("use 'ti.init(kernel_profiler = True)' to turn on KernelProfiler.")
    return True


def _print_count():
    kernels = {}
    for name, time in _finished():
        kernels.setdefault(name, []).append(time)
    whole = sum(time for _, time in _launches)
    lines = [
        f"[{sum(times) / whole if whole else 0:7.2%} {sum(times) / 1e3:7.3f} s {len(times):6d}x "
        f"|{min(times):9.3f} {sum(times) / len(times):9.3f} {max(times):9.3f} ms] {name}"
        for name, times in sorted(kernels.items(), key=lambda item: -sum(item[1]))
    ]
    columns = "[      %     total   count |      min       avg       max   ] Kernel name"
    summary = f"[100.00%] Total execution time: {whole / 1e3:7.3f} s   "
    _print_table("count", columns, lines, f"{summary}number of results: {len(kernels)}")


def _print_trace():
    lines, begin = [], 0.0
    for name, time in _finished():
        lines.append(f"[{begin:9.3f} ms |{time:9.3f} ms ] {name}")
        begin += time
    columns = "[  start.time | kernel.time ] Kernel name"
    _print_table("trace", columns, lines, f"Number of records:  {len(_launches)}")


def _print_table(mode, columns, lines, summary):
    title = f"Kernel Profiler({mode}, default) @ {runtime.cfg.arch.name.upper()} "
    width = max(len(columns), len(title))
    thick, thin = "=" * width, "-" * width
    print("\n".join([thick, title, thick, columns, thin, *lines, thin, summary, thick]))


__all__ = [
    "clear_kernel_profiler_info",
    "collect_kernel_profiler_metrics",
    "get_kernel_profiler_total_time",
    "print_kernel_profiler_info",
    "query_kernel_profiler_info",
    "set_kernel_profiler_metrics",
    "set_kernel_profiler_toolkit",
]
