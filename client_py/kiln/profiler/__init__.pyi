# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.profiler`: the time of kernels and their compilation, and the memory in use."""

from typing import Any
class CuptiMetric:
    """A metric of CUDA's profiler and its column in a table.

    name: its name in the profiler. header: the column's title. val_format: the format of values.
    scale: a factor that is applied to values before formatting.

        metric = ti.profiler.CuptiMetric("smsp__inst_executed.sum", header="instructions")
        print(metric.name)  # prints: smsp__inst_executed.sum
    """
    def __init__(self, name: Any = "", header: Any = "unnamed_header", val_format: Any = "     {:8.0f} ", scale: Any = 1.0) -> None: ...
def clear_kernel_profiler_info() -> Any:
    """Drops the recorded launches.

    Example::

        ti.init(arch=ti.cpu, kernel_profiler=True)
        ti.profiler.clear_kernel_profiler_info()
    """
def clear_scoped_profiler_info() -> Any:
    """Drops the instances recorded so far.

    Example::

        ti.profiler.clear_scoped_profiler_info()
    """
def collect_kernel_profiler_metrics(metric_list: Any = ...) -> Any:
    """Context manager that calls `set_kernel_profiler_metrics` at its beginning and end.

    metric_list: CuptiMetric objects.

        ti.init(arch=ti.cpu, kernel_profiler=True)
        with ti.profiler.collect_kernel_profiler_metrics():
            pass
    """
def get_kernel_profiler_total_time() -> Any:
    """Seconds spent in all recorded launches.

    Example::

        ti.init(arch=ti.cpu, kernel_profiler=True)
        print(ti.profiler.get_kernel_profiler_total_time())  # prints: 0.0
    """
def get_predefined_cupti_metrics(name: Any = "") -> Any:
    """The metrics of a suite, a list of CuptiMetric; None, and a warning, for an unknown one.

    name: the name of the suite, as "global_access".

        print(len(ti.profiler.get_predefined_cupti_metrics("global_access")) > 0)  # prints: True
    """
kernel_metrics: Any
kernel_profiler: Any
memory_profiler: Any
def print_kernel_profiler_info(mode: Any = "count") -> Any:
    """Prints the launches.

    Args:
        mode: "count" prints one line per kernel with its share and total of the time, its number of
            launches, and their minimum, average and maximum time; "trace" prints one line per
            launch, in order.

    Example::

        ti.init(kernel_profiler=True)
        ti.profiler.print_kernel_profiler_info("count")  # prints anything
    """
def print_memory_profiler_info() -> Any:
    """Prints the memory used by each tree of fields and by the whole process.

    Example::

        ti.profiler.print_memory_profiler_info()  # prints anything
    """
def print_scoped_profiler_info() -> Any:
    """Prints how long the program waited for the code of each kernel made since the last clear.
    Also prints how long compiling took, now or when the cached entry was made.

        ti.profiler.print_scoped_profiler_info()  # prints anything
    """
def query_kernel_profiler_info(name: Any) -> Any:
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
scoped_profiler: Any
def set_kernel_profiler_metrics(metric_list: Any = ...) -> Any:
    """Drops the recorded launches, as the reference does. No device collects the metrics.

    metric_list: CuptiMetric objects.

        ti.init(arch=ti.cpu, kernel_profiler=True)
        ti.profiler.set_kernel_profiler_metrics()
    """
def set_kernel_profiler_toolkit(toolkit_name: Any = "default") -> Any:
    """Whether a toolkit is available: only "default" is, because no device has counters.

    toolkit_name: "default" or "cupti".

        ti.init(arch=ti.cpu, kernel_profiler=True)
        print(ti.profiler.set_kernel_profiler_toolkit("default"))  # prints: True
    """
