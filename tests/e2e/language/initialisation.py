"""ti.init: options, environment, versions, devices, re-initialisation, logging."""

import copy
import os
from unittest import mock

from harness import case, ti

# What an option is tried with: everything but the types, which have cases of their own.
OPTIONS = {
    "ad_stack_size": 16,
    "advanced_optimization": False,
    "allow_nv_shader_extension": False,
    "auto_mesh_local_default_occupacy": 2,
    "cache_loop_invariant_global_vars": False,
    "cfg_optimization": False,
    "check_out_of_bound": True,
    "cpu_block_dim_adaptive": False,
    "cpu_max_num_threads": 1,
    "cuda_stack_limit": 1024,
    "debug": True,
    "default_cpu_block_dim": 64,
    "default_gpu_block_dim": 64,
    "demote_dense_struct_fors": False,
    "demote_no_access_mesh_fors": False,
    "detect_read_only": False,
    "device_memory_GB": 0.5,
    "device_memory_fraction": 0.25,
    "experimental_auto_mesh_local": True,
    "fast_math": False,
    "flatten_if": True,
    "force_scalarize_matrix": True,
    "gdb_trigger": False,
    "gpu_max_reg": 32,
    "half2_vectorization": True,
    "kernel_profiler": True,
    "log_level": "warn",
    "lower_access": True,
    "make_block_local": False,
    "make_cpu_multithreading_loop": False,
    "make_mesh_block_local": False,
    "make_thread_local": False,
    "max_block_dim": 512,
    "mesh_localize_all_attr_mappings": True,
    "mesh_localize_from_end_mapping": True,
    "mesh_localize_to_end_mapping": False,
    "move_loop_invariant_outside_if": True,
    "num_compile_threads": 2,
    "offline_cache": False,
    "offline_cache_cleaning_factor": 0.5,
    "offline_cache_cleaning_policy": "never",
    "offline_cache_max_size_of_files": 1048576,
    "opt_level": 2,
    "optimize_mesh_reordered_mapping": False,
    "print_full_traceback": True,
    "print_ir_dbg_info": False,
    "quant_opt_atomic_demotion": False,
    "quant_opt_store_fusion": False,
    "random_seed": 7,
    "real_matrix_scalarize": False,
    "saturating_grid_dim": 4,
    "short_circuit_operators": False,
    "simplify_after_lower_access": False,
    "simplify_before_lower_access": False,
    "timeline": False,
    "unrolling_limit": 8,
    "verbose": False,
    "verbose_kernel_launches": False,
    "vk_api_version": "1.2",
}


def sum_to(n):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        total = 0
        for i in range(n):
            total += i
        return total

    return k(n)


class environment:
    """Variables set for a while."""

    def __init__(self, **variables):
        self.variables = variables

    def __enter__(self):
        os.environ.update(self.variables)

    def __exit__(self, *_):
        for name in self.variables:
            del os.environ[name]


@case()
def every_option_is_accepted(show):
    for name, value in OPTIONS.items():
        ti.init(arch=ti.cpu, **{name: value})
        if sum_to(10) != 45:
            show(name)
    special = ("gdb_trigger", "log_level", "print_full_traceback", "short_circuit_operators")
    for name, value in OPTIONS.items():
        # Some are no settings of the compiler, and one is fixed.
        if name in (*special, "unrolling_limit", "max_block_dim"):
            continue
        ti.init(arch=ti.cpu, **{name: value})
        got = getattr(ti.cfg, name)
        if got != value:
            show(name, got)
    ti.init(arch=ti.cpu, log_level="info")


@case()
def defaults_of_options(show):
    for name in sorted(OPTIONS):
        # This depends on the machine.
        if name != "cpu_max_num_threads" and name in dir(ti.cfg):
            show(f"{name} = {getattr(ti.cfg, name)!r}")
    show(str(ti.cfg.default_fp), str(ti.cfg.default_ip))


@case()
def options_go_back_to_their_defaults(show):
    ti.init(arch=ti.cpu, random_seed=5, default_fp=ti.f64, default_ip=ti.i64)
    show(ti.cfg.random_seed, str(ti.cfg.default_fp), str(ti.cfg.default_ip))
    ti.init(arch=ti.cpu)
    show(ti.cfg.random_seed, str(ti.cfg.default_fp), str(ti.cfg.default_ip))


@case()
def unknown_option(show):
    show.error(ti.init, arch=ti.cpu, fast_maths=True)
    show.error(ti.init, arch=ti.cpu, wrong=1, also_wrong=2)
    show.error(ti.init, arch=ti.cpu, default_up=ti.u32)


@case()
def options_of_other_types(show):
    show.error(ti.init, arch=ti.cpu, random_seed="x")
    show.error(ti.init, arch=ti.cpu, debug="False")
    show.error(ti.init, arch=ti.cpu, cpu_max_num_threads=-1)
    ti.init(arch=ti.cpu, random_seed=-1)


@case()
def init_answers_nothing(show):
    show(ti.init(arch=ti.cpu))
    show(ti.init(ti.cpu, ti.f64, ti.i64))
    show(str(ti.cfg.default_fp), str(ti.cfg.default_ip))


@case()
def required_version(show):
    ti.init(arch=ti.cpu, require_version="1.7")
    ti.init(arch=ti.cpu, require_version="1.7.4")
    ti.init(arch=ti.cpu, require_version="1.6.0")
    for wanted in ("1.7.5", "1.8.0", "2.0.0", "0.9.0", "one", "1"):
        show.error(ti.init, arch=ti.cpu, require_version=wanted)
    show(ti.__version__)


@case()
def arguments_before_environment_before_defaults(show):
    with environment(TI_RANDOM_SEED="11", TI_FAST_MATH="0", TI_DEFAULT_FP="64"):
        ti.init(arch=ti.cpu)
        show(ti.cfg.random_seed, ti.cfg.fast_math, str(ti.cfg.default_fp))
        ti.init(arch=ti.cpu, random_seed=3, default_fp=ti.f32)
        show(ti.cfg.random_seed, ti.cfg.fast_math, str(ti.cfg.default_fp))
    with environment(TI_RANDOM_SEED="", TI_DEFAULT_IP=""):
        ti.init(arch=ti.cpu)
        show(ti.cfg.random_seed, str(ti.cfg.default_ip))


@case()
def environment_of_wrong_form(show):
    with environment(TI_DEFAULT_FP="16"):
        show.error(ti.init, arch=ti.cpu)
    with environment(TI_DEFAULT_IP="i64"):
        show.error(ti.init, arch=ti.cpu)
    with environment(TI_RANDOM_SEED="seven"):
        show.error(ti.init, arch=ti.cpu)
    with environment(TI_DEBUG="yes"):
        show.error(ti.init, arch=ti.cpu)


@case(differs="loops in lanes")
def lanes_are_a_word(show):
    for word in ("off", "on", "auto"):
        ti.init(arch=ti.cpu, lanes=word)
        show(ti.cfg.lanes)
    show.error(ti.init, lanes="perhaps")


@case(differs="limits of memory")
def limits_of_memory(show):
    for name in ("ad_tape_GB", "snode_memory_GB", "device_memory_GB"):
        for value in (-1.0, float("nan"), float("inf")):
            show.error(ti.init, ti.cpu, **{name: value})
    for value in (-0.1, 1.5):
        show.error(ti.init, ti.cpu, device_memory_fraction=value)


@case(differs="a level of the processor")
def levels_of_the_processor(show):
    with mock.patch("kiln._native.host_target", lambda: "x86-64-v3"):
        for level in ("x86-64-v2", ""):
            ti.init(arch=ti.cpu, cpu_level=level)
            show(ti.cfg.cpu_level)
        for level in ("x86-64-v4", "x86-64", 3, None):
            show.error(ti.init, arch=ti.cpu, cpu_level=level)
        with environment(KILN_CPU="x86-64-v2"):
            ti.init(arch=ti.cpu)
            show(ti.cfg.cpu_level)
            ti.init(arch=ti.cpu, cpu_level="x86-64-v3")
            show(ti.cfg.cpu_level)
        with environment(KILN_CPU="x86-64-v4"):
            show.error(ti.init, arch=ti.cpu)
        with environment(KILN_CPU_LEVEL="x86-64-v4", KILN_CPU="x86-64-v2"):
            show.error(ti.init, arch=ti.cpu)
        ti.init(arch=ti.cpu)
        show(ti.cfg.cpu_level)


@case()
def environment_device_wins(show):
    with environment(TI_ARCH="x64"):
        ti.init(arch=ti.vulkan)
        show(str(ti.cfg.arch), ti.cfg.arch.name)


@case(differs="unknown devices")
def environment_device_that_is_none(show):
    with environment(TI_ARCH="nonsense"):
        show.error(ti.init, arch=ti.cpu)


@case()
def devices(show):
    show(str(ti.cpu), ti.cpu.name, ti.cpu == ti.x64, ti.x64 == ti.x86_64)
    show(type(ti.gpu), [a.name for a in ti.gpu])
    show(ti.cpu in (ti.x64, ti.arm64), ti.cuda == ti.cpu, copy.deepcopy(ti.cuda) == ti.cuda)
    show(len({ti.cpu, ti.x64, ti.cuda}))
    show(ti.cfg.arch == ti.cpu, repr(ti.cpu), int(ti.cpu))


@case()
def a_device_that_is_not_there(show):
    ti.init(arch=ti.metal)
    show(ti.cfg.arch.name)
    ti.init(arch=[ti.metal, ti.dx12, ti.cpu])
    show(ti.cfg.arch.name)
    show.error(ti.init, arch=ti.metal, enable_fallback=False)
    show.error(ti.init, arch=[ti.metal, ti.dx11], enable_fallback=False)


@case(differs="unknown devices")
def a_device_that_is_none(show):
    show.error(ti.init, arch="metals")
    show.error(ti.init, arch=3)


@case()
def kernels_outlive_init(show):
    @ti.kernel
    def k(a: float, b: int) -> float:
        return a + b / 3

    show(k(0.1, 1))
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    show(k(0.1, 1))
    ti.reset()
    ti.init(arch=ti.cpu)
    show(k(0.1, 1))


@case()
def reset_without_init(show):
    ti.reset()
    ti.reset()
    show(ti.lang.impl.get_runtime().prog is None)
    show.error(ti.field, ti.i32, shape=3)


@case()
def things_before_init(show):
    ti.reset()
    show.error(ti.field, ti.f32, shape=())
    show.error(ti.field, ti.f32)
    show.error(ti.Vector.field, 2, ti.f32, shape=2)
    show.error(ti.Matrix.field, 2, 2, ti.f32, shape=2)
    show.error(ti.Struct.field, {"a": ti.f32}, shape=2)
    show.error(ti.ndarray, ti.f32, 4)
    show((ti.Vector([1, 2]) + 1).to_numpy())


@case(differs="calls that trip over Taichi's own code")
def more_things_before_init(show):
    ti.reset()
    show.error(ti.Vector.ndarray, 2, ti.f32, 4)
    show.error(ti.FieldsBuilder)
    show.error(lambda: ti.root.dense(ti.i, 4))
    show.error(ti.sync)

    @ti.kernel
    def k() -> ti.i32:
        return 3

    show.error(k)
    ti.init(arch=ti.cpu)
    show(k())


@case()
def when_float_is_resolved(show):
    ti.reset()
    vec = ti.types.vector(3, float)

    @ti.dataclass
    class S:
        a: float
        n: int

    @ti.kernel
    def k(a: float) -> float:
        return a

    @ti.kernel
    def third() -> ti.f64:
        return ti.cast(1 / 3, ti.f64)

    ti.init(arch=ti.cpu, default_fp=ti.f64, default_ip=ti.i64)
    show(k(0.1), third())
    show(vec(0.1, 0.2, 0.3).to_numpy())
    show(S.field(shape=2).to_numpy())
    show(ti.math.vec3(0.1).to_numpy())
    show(ti.field(float, 2).to_numpy(), ti.field(int, 2).to_numpy())
    show(ti.Vector([1.5, 2]).to_numpy(), ti.Vector([1, 2]).to_numpy())


@case()
def settings_seen_from_inside(show):
    ti.init(arch=ti.cpu, fast_math=False, default_ip=ti.i64)
    cfg = ti.lang.impl.current_cfg()
    show(cfg.fast_math, str(cfg.default_ip), cfg.debug, cfg.print_ir, cfg.arch.name)
    runtime = ti.lang.impl.get_runtime()
    show(runtime.prog is not None, str(runtime.default_fp), str(runtime.default_ip))


@case()
def types_of_init(show):
    for kind in (ti.f16, ti.f32, ti.f64):
        ti.init(arch=ti.cpu, default_fp=kind)
        show(str(ti.cfg.default_fp))
    for kind in (ti.i32, ti.i64):
        ti.init(arch=ti.cpu, default_ip=kind)
        show(str(ti.cfg.default_ip), str(ti.cfg.default_up))


@case()
def wrong_types_of_init(show):
    for wanted in (ti.i32, ti.u32, "f32", int, float, 32):
        show.error(ti.init, arch=ti.cpu, default_fp=wanted)
    for wanted in (ti.u32, ti.i8, ti.f32, "i32", int, 32):
        show.error(ti.init, arch=ti.cpu, default_ip=wanted)


@case()
def seeds(show):
    @ti.kernel
    def k() -> ti.f32:
        return ti.random()

    def draw(seed):
        ti.init(arch=ti.cpu, random_seed=seed)
        return k()

    show(draw(3) == draw(3), draw(3) == draw(4), draw(0) == draw(0))
    ti.init(arch=ti.cpu, random_seed=1)
    show(k() == k())


@case()
def log_levels(show):
    show(ti.TRACE, ti.DEBUG, ti.INFO, ti.WARN, ti.ERROR, ti.CRITICAL)
    names = (ti.TRACE, ti.DEBUG, ti.INFO, ti.WARN, ti.ERROR, ti.CRITICAL)
    show([ti.is_logging_effective(n) for n in names])
    ti.set_logging_level(ti.ERROR)
    show([ti.is_logging_effective(n) for n in names])
    ti.init(arch=ti.cpu, log_level=ti.TRACE)
    show([ti.is_logging_effective(n) for n in names])
    ti.init(arch=ti.cpu)
    show([ti.is_logging_effective(n) for n in names])
    with environment(TI_LOG_LEVEL="critical"):
        ti.init(arch=ti.cpu)
        show([ti.is_logging_effective(n) for n in names])
    ti.init(arch=ti.cpu)


@case()
def extensions(show):
    names = "sparse quant mesh quant_basic data64 adstack bls assertion extfunc".split()
    show([str(getattr(ti.extension, name)) for name in names])
    for arch in (ti.x64, ti.arm64, ti.cuda, ti.vulkan, ti.metal):
        supported = ti.lang.misc.is_extension_supported
        show([name for name in names if supported(arch, getattr(ti.extension, name))])


@case()
def many_inits(show):
    for n in range(30):
        ti.init(arch=ti.cpu)
        x = ti.field(ti.i32, shape=4)
        x[1] = n
    show(x[1], sum_to(5))


@case()
def what_the_runtime_counts_and_sets(show):
    runtime = ti.lang.impl.get_runtime()
    show(runtime.get_num_compiled_functions())

    @ti.kernel
    def k(a: ti.template()):
        pass

    k(1)
    k(2)
    k(2)
    show(runtime.get_num_compiled_functions())
    runtime.set_default_ip(ti.i64)
    runtime.set_default_fp(ti.f64)

    @ti.kernel
    def whole() -> ti.i64:
        a = 1
        return a << 40

    @ti.kernel
    def fraction() -> ti.f64:
        a = 1e-9
        return a + 1

    show(whole(), fraction() > 1)
    show(runtime.default_ip == ti.i64, runtime.default_up == ti.u64, runtime.default_fp == ti.f64)
    runtime.materialize_root_fb(False)
    ti.init(arch=ti.cpu)
    runtime = ti.lang.impl.get_runtime()
    show(runtime.get_num_compiled_functions(), runtime.default_ip == ti.i32)
