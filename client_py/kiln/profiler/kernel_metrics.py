"""The names of CUDA's profiler metrics. Programs list them, but no device of Kiln collects them."""


class CuptiMetric:
    """A metric of CUDA's profiler and its column in a table.

    name: its name in the profiler. header: the column's title. val_format: the format of values.
    scale: a factor that is applied to values before formatting.

        metric = ti.profiler.CuptiMetric("smsp__inst_executed.sum", header="instructions")
        print(metric.name)  # prints: smsp__inst_executed.sum
    """

    def __init__(self, name="", header="unnamed_header", val_format="     {:8.0f} ", scale=1.0):
        self.name, self.header, self.val_format, self.scale = name, header, val_format, scale


_MB, _GB = 2.0**-20, 2.0**-30
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
_BANKS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_GLOBAL = "l1tex__t_set_accesses_pipe_lsu_mem_global"
_PEAK = "avg.pct_of_peak_sustained"
# Suite -> (name, head, format, scale) of its metrics.
_SUITES = {
    "global_access": (
        ("dram__bytes.sum", "  global.R&W ", "{:9.3f} MB ", _MB),
        ("dram__bytes.sum.per_second", " global.R&W/s ", "{:8.3f} GB/s ", _GB),
        ("dram__bytes_read.sum", "   global.R ", "{:8.3f} MB ", _MB),
        ("dram__bytes_read.sum.per_second", "   global.R/s ", "{:8.3f} GB/s ", _GB),
        ("dram__bytes_write.sum", "   global.W ", "{:8.3f} MB ", _MB),
        ("dram__bytes_write.sum.per_second", "   global.W/s ", "{:8.3f} GB/s ", _GB),
    ),
    "shared_access": (
        (f"{_SHARED}_op_ld.sum", " shared.trans.W ", "     {:10.0f} ", 1.0),
        (f"{_SHARED}_op_st.sum", " shared.trans.R ", "     {:10.0f} ", 1.0),
        (f"{_BANKS}_op_st.sum", " bank.conflict.W ", "      {:10.0f} ", 1.0),
        (f"{_BANKS}_op_ld.sum", " bank.conflict.R ", "      {:10.0f} ", 1.0),
    ),
    "atomic_access": (
        (f"{_GLOBAL}_op_atom.sum", " global.atom ", "    {:8.0f} ", 1.0),
        (f"{_GLOBAL}_op_red.sum", " global.red ", "   {:8.0f} ", 1.0),
    ),
    "cache_hit_rate": (
        ("l1tex__t_sector_hit_rate.pct", "   L1.hit ", " {:6.2f} % ", 1.0),
        ("lts__t_sector_hit_rate.pct", "   L2.hit ", " {:6.2f} % ", 1.0),
    ),
    "device_utilization": (
        (f"smsp__cycles_active.{_PEAK}_elapsed", " core.uti ", " {:6.2f} % ", 1.0),
        (f"gpu__dram_throughput.{_PEAK}_elapsed", "  mem.uti ", " {:6.2f} % ", 1.0),
        (f"{_SHARED}.{_PEAK}_elapsed", " uti.shared ", "   {:6.2f} % ", 1.0),
        (f"l1tex__throughput.{_PEAK}_elapsed", "   L1.uti ", " {:6.2f} % ", 1.0),
        (f"lts__throughput.{_PEAK}_elapsed", "   L2.uti ", " {:6.2f} % ", 1.0),
    ),
}
predefined_cupti_metrics = {
    suite: [CuptiMetric(*metric) for metric in metrics] for suite, metrics in _SUITES.items()
}
default_cupti_metrics = predefined_cupti_metrics["global_access"][:1]


def get_predefined_cupti_metrics(name=""):
    """The metrics of a suite, a list of CuptiMetric; None, and a warning, for an unknown one.

    name: the name of the suite, as "global_access".

        print(len(ti.profiler.get_predefined_cupti_metrics("global_access")) > 0)  # prints: True
    """
    if name not in predefined_cupti_metrics:
        from .. import runtime

        known = ", ".join(map(repr, predefined_cupti_metrics))
        runtime._warn(f"Valid Taichi predefined metrics list (str): {known}")
    return predefined_cupti_metrics.get(name)


__all__ = ["CuptiMetric", "get_predefined_cupti_metrics"]
