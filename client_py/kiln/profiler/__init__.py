"""`ti.profiler`: the time of kernels and their compilation, and the memory in use."""

from .kernel_metrics import CuptiMetric, get_predefined_cupti_metrics
from .kernel_profiler import (
    clear_kernel_profiler_info,
    collect_kernel_profiler_metrics,
    get_kernel_profiler_total_time,
    print_kernel_profiler_info,
    query_kernel_profiler_info,
    set_kernel_profiler_metrics,
    set_kernel_profiler_toolkit,
)
from .memory_profiler import print_memory_profiler_info
from .scoped_profiler import clear_scoped_profiler_info, print_scoped_profiler_info

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
