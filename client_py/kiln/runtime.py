"""Starts and resets the runtime (`init`, `reset`, `sync`), and makes the session that compiles when
the first kernel needs it."""

import os
import sys

from . import __version__, _native, interrupts, provided, stat
from . import types as ti_types
from .active import check_not_captured, python_scope
from .arch import (
    Arch,
    arch_from_name,
    arm64,
    cpu,
    cuda,
    is_arch_supported,
    why_not_on_cuda,
    x64,
)
from .data import declared
from .diagnostics import near, say
from .settings import FRONT_END, LANES, ON_OVERFLOW, OPTIONS, cfg

initialized = False
# Counts calls of init and reset: an object made in an older generation is stale.
generation = 0
instances_made = 0  # of kernels, since the latest init or reset
derivatives_made = False  # whether instances of derivatives are among them
memory_given = False  # whether the program or its environment sets device_memory_GB


@python_scope
def init(
    arch=None,
    default_fp=None,
    default_ip=None,
    _test_mode=False,
    enable_fallback=True,
    require_version=None,
    **options,
):
    """Starts the runtime with the given settings. Destroys all fields and compiled kernels.

    arch: a device or a list of devices. Kiln takes the first available one. If there is none, it
    warns and takes the processor, or a CUDA device if only other GPUs are named. With
    `enable_fallback=False` it raises RuntimeError. default_fp, default_ip: the types that `float`
    and `int` mean in kernels and annotations: ti.f32 or ti.f64, ti.i32 or ti.i64. require_version:
    the lowest acceptable version of the language, as "1.7.0"; raises Exception if Kiln's is lower.
    options: further options by name. These are the most important; docs/language/running.md lists
    all.

    - debug: checks asserts, indices, overflow and division by zero.
    - check_out_of_bound: checks only indices.
    - fast_math: False computes each float operation exactly as IEEE 754 specifies.
    - cpu_max_num_threads: the number of threads of parallel loops; 0 means one per core.
    - random_seed: the seed of `ti.random`.
    - kernel_profiler: times launches, for `ti.profiler`.
    - offline_cache: False compiles without looking into the cache.
    - log_level: hides messages below this level, as "error".
    - unrolling_limit: the number of iterations above which a static loop warns; 0 never warns.
    - print_full_traceback: also shows Kiln's own frames in tracebacks.
    - print_ir: shows the compiler's stages.

    Raises KeyError for an unknown option. Each option can also be set by an environment variable,
    KILN_<OPTION> or TI_<OPTION>. An argument overrides the variable, but TI_ARCH overrides `arch`.

        ti.init(arch=ti.cpu, default_fp=ti.f64, debug=True)
    """
    global initialized
    if require_version is not None:
        _check_version(require_version)
    _check_options(options)
    reset()
    environment = _environment()
    _set_options(options, environment, default_fp, default_ip, _test_mode)
    cfg.arch = _select_arch(environment.get("arch", ("", arch))[1], enable_fallback)
    _use_device()
    if _test_mode:
        return _FrontEndOptions()
    _set_native_options()
    if cfg.kernel_profiler:
        provided.start_profiler()
    interrupts.end_kernels_in_cells()
    provided.load("make_instance")  # imported now rather than during a kernel's first call
    initialized = True


def _check_options(options):
    """Raises an error unless all options exist and are of their types."""
    if "default_up" in options:
        raise say.default_up_always_unsigned_type_default_ip_please()
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        hint = near(unknown[0], ("arch", "default_fp", "default_ip", *OPTIONS))
        raise say.unrecognized_keyword_argument_s_for_ti(names=", ".join(unknown), hint=hint)
    for name, value in options.items():
        _check_type(name, value)


def _set_options(options, environment, default_fp, default_ip, is_test):
    """Sets all options but the device: first by the environment, then by init's arguments."""
    global log_level, memory_given
    cfg.default_fp = _default_type("default_fp", default_fp, environment)
    cfg.default_ip = _default_type("default_ip", default_ip, environment)
    for name, (variable, text) in environment.items():
        if name in options:
            _warn(say.environment_overridden(variable=variable, text=text, name=name))
        elif name in OPTIONS:
            setattr(cfg, name, _parse_option(name, variable, text))
    for name, value in options.items():
        setattr(cfg, name, value)
    memory_given = "device_memory_GB" in {**options, **environment}
    if not is_test:
        log_level = _level(str(cfg.log_level).lower())
    if cfg.check_overflow not in ON_OVERFLOW:
        raise say.unknown_check_overflow(value=cfg.check_overflow)
    if cfg.lanes not in LANES:
        raise say.unknown_lanes(value=cfg.lanes)
    _check_cpu_level("cpu_level" in options, environment)


def _set_native_options():
    """Passes on the options that the native part keeps itself."""
    if not 0 <= cfg.cpu_max_num_threads < 2**31:
        raise say.no_number_of_threads(value=cfg.cpu_max_num_threads)
    _native.set_threads(int(cfg.cpu_max_num_threads))
    _native.set_seed(int(cfg.random_seed) & (2**64 - 1))  # any integer is a seed, also -1
    _check_memory()
    _native.set_tape_limit(int(cfg.ad_tape_GB * 2**30))
    if cfg.cpu_max_num_threads == 0:
        cfg.cpu_max_num_threads = _native.default_threads()


def _check_memory():
    # Bytes have 63 bits. NaN is not a number of them either.
    for name in ("ad_tape_GB", "snode_memory_GB", "device_memory_GB"):
        value = getattr(cfg, name)
        if not 0 <= value < 2**33:
            raise say.no_number_of_gigabytes(name=name, value=value)
    fraction = cfg.device_memory_fraction
    if not 0 <= fraction <= 1:
        raise say.no_fraction(name="device_memory_fraction", value=fraction)


@python_scope
def reset():
    """Destroys all fields, compiled kernels and settings. Decorated functions can be used again
    after another `ti.init`.

        x = ti.field(ti.f32, shape=3)
        ti.reset()
        print(x[0])  # raises: TaichiRuntimeError: is gone
    """
    global initialized, generation, instances_made, derivatives_made, memory_given
    initialized = memory_given = False
    generation += 1
    instances_made = 0
    derivatives_made = False
    for forget in _at_reset:
        forget()
    declared.forget()
    _native.forget_instances()
    _native.set_profiler(None)
    cfg.set_defaults()
    _use_device()


_at_reset = []


def at_reset(forget):
    """Registers a function that `reset` calls before the settings change."""
    _at_reset.append(forget)


def companion_placed():
    """Called when a gradient or dual gets a place: derivatives made before did without it."""
    global derivatives_made
    if derivatives_made:
        derivatives_made = False
        _native.forget_instances()


def tree_budget():
    """The memory budget of trees with sparse SNodes, by init's options; None if unlimited. On the
    CPU all trees share it, on CUDA it is that of each tree, which otherwise grows."""
    global _budget
    limit = cfg.snode_memory_GB
    if cfg.arch == cuda and not limit:
        limit = cfg.device_memory_fraction * _native.device_memory_bytes() / 2**30
        if not limit and (memory_given or cfg.device_memory_GB != OPTIONS["device_memory_GB"]):
            limit = cfg.device_memory_GB
    if not limit:
        return None
    if _budget is None or _budget[0] != generation:
        _budget = generation, _native.MemoryBudget(int(limit * 2**30))
    return _budget[1]


_budget = None  # (generation, budget)


def sync():
    """Waits for all launched kernels. On the CPU, a launch has finished when it returns.

    Raises TaichiRuntimeError before `ti.init`.

        ti.sync()
    """
    require_init("wait for kernels")
    check_not_captured("sync")
    declared.check(generation)
    _native.synchronize()


def require_init(what):
    if not initialized:
        raise say.cannot_maybe_you_forgot_call_ti(what=what)


class _FrontEndOptions:
    """The front end's options, which `init` returns if `_test_mode` is set."""

    def __init__(self):
        for name in FRONT_END:
            setattr(self, name, getattr(cfg, name))


def option_variables():
    """The names of the KILN_… variables that set options of `init`."""
    return {f"KILN_{name.upper()}" for name in ("arch", *_DEFAULT_TYPES, *OPTIONS)}


def _environment():
    """{option: (variable, text)} as set by KILN_… and TI_… variables; KILN_… overrides TI_…."""
    found = {}
    for variable, value in os.environ.items():
        prefix, _, name = variable.partition("_")
        if not value or prefix not in ("TI", "KILN"):
            continue
        # Option names are lower-case, but for this ending.
        name = name.lower().replace("_memory_gb", "_memory_GB")
        if prefix == "KILN" or name not in found:
            found[name] = (variable, value)
    return found


# The types of options, the method of the values that they accept, and what errors call these.
_TYPES = {
    bool: ("__bool__", "True or False"),
    int: ("__index__", "an integer"),
    float: ("__float__", "a number"),
}


def _check_type(name, value):
    """Raises TypeError unless a value given for an option is of its type, in a wide sense. As in
    the reference, a text is not a bool: "False" would be true."""
    method, expected = _TYPES.get(type(OPTIONS[name]), ("", ""))
    if method and not hasattr(value, method) and not (method == "__bool__" and value is None):
        raise say.option_of_other_type(name=name, value=value, expected=expected)


def _parse_option(name, variable, text):
    kind = type(OPTIONS[name])
    try:
        return bool(int(text)) if kind is bool else kind(text)
    except ValueError:
        needed = "0 or 1" if kind is bool else "a number"
        raise say.environment_of_wrong_form(variable=variable, text=text, needed=needed) from None


_DEFAULT_TYPES = {
    "default_fp": (ti_types.f32, ti_types.f64, ti_types.f16),
    "default_ip": (ti_types.i32, ti_types.i64),
}


def _default_type(name, given, environment):
    """The type that `float` or `int` means: the argument, else the environment's, else 32 bits."""
    variable, text = environment.pop(name, ("", ""))
    allowed = _DEFAULT_TYPES[name]
    if given is not None:
        if text:
            _warn(say.environment_overridden(variable=variable, text=text, name=name))
        if given not in allowed:
            raise say.default_type_not_allowed(
                name=name, allowed=" or ".join(f"ti.{t}" for t in allowed), dtype=given
            )
        return given
    if not text:
        return allowed[0]
    if text not in ("32", "64"):
        raise say.invalid_ti__should_or(name=variable, text=text)
    return allowed[text == "64"]


def _select_arch(arch, enable_fallback):
    if arch is None:
        return cpu
    wanted = []
    for one in arch if isinstance(arch, (list, tuple)) else [arch]:
        named = arch_from_name(one) if isinstance(one, str) else one
        wanted += named if isinstance(named, list) else [named]
    for candidate in wanted:
        if not isinstance(candidate, Arch):
            raise say.arch_must_one_ti_cpu_ti(candidate=candidate)
        if is_arch_supported(candidate):
            return candidate
    names = ", ".join(a.name for a in wanted)
    reason = f": {why_not_on_cuda()}" if cuda in wanted else ""
    if not enable_fallback:
        raise say.arch_not_supported(names=names, reason=reason)
    # A program for GPUs of another kind is better off on this kind than on the CPU.
    wants_gpu = not any(one in (x64, arm64) for one in wanted)
    taken = cuda if wants_gpu and is_arch_supported(cuda) else cpu
    _warn(say.arch_falls_back(names=names, taken="CPU" if taken is cpu else "CUDA", reason=reason))
    return taken


def _use_device():
    global _device_target
    on_cuda = cfg.arch == cuda
    target = _native.use_device("cuda" if on_cuda else "cpu", int(cfg.cuda_device))
    _device_target = target if on_cuda else ""
    _native.limit_blocks(min(max(int(cfg.saturating_grid_dim), 0), 2**31 - 1))
    _native.limit_stack(min(max(int(cfg.cuda_stack_limit), 0), 2**31 - 1))


_device_target = ""


def target():
    """The target for which kernels are compiled; "" for this machine's CPU."""
    return _device_target or cfg.cpu_level


def _check_cpu_level(is_given, environment):
    """Takes the CPU level from $KILN_CPU if neither an argument nor $KILN_CPU_LEVEL sets it. Raises
    ValueError for a level that this machine cannot run."""
    source = "cpu_level"
    if not is_given and "cpu_level" in environment:
        source = environment["cpu_level"][0]
    elif not is_given and os.environ.get("KILN_CPU"):
        source = "KILN_CPU"
        cfg.cpu_level = os.environ["KILN_CPU"]
    if cfg.cpu_level == OPTIONS["cpu_level"]:
        return
    levels = _native.TARGETS
    if cfg.cpu_level not in levels:
        names = ", ".join(levels)
        raise say.no_such_cpu_level(source=source, level=cfg.cpu_level, levels=names)
    host = _native.host_target()
    if host not in levels[levels.index(cfg.cpu_level) :]:
        raise say.cpu_level_above_host(source=source, level=cfg.cpu_level, host=host)


def _check_version(required):
    digits = required if isinstance(required, str) else ""
    for at, char in enumerate(digits):
        if not (char.isdigit() or char == "."):
            digits = required[:at]
            break
    try:
        parts = [int(n) for n in digits.split(".")]
        major, minor = parts[0], parts[1]
        patch = parts[2] if len(parts) > 2 else 0
    except (ValueError, IndexError):
        raise say.require_version_should_formatted_following_pep_and() from None
    if major != __version__[0] or (minor, patch) > __version__[1:]:
        raise say.taichi_version_mismatch_required_version_installed(
            major=major, minor=minor, patch=patch, installed=".".join(map(str, __version__))
        )


LOG_LEVELS = TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = (
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "critical",
)
log_level = "info"  # messages below it are hidden


def _level(name):
    if name not in LOG_LEVELS:
        levels = ", ".join(LOG_LEVELS)
        raise say.logging_level_one_got(levels=levels, level=name, hint=near(name, LOG_LEVELS))
    return name


def set_logging_level(level):
    """Hides messages below a level. `ti.init` replaces it by its option `log_level` or by
    TI_LOG_LEVEL.

    level: ti.TRACE, ti.DEBUG, ti.INFO, ti.WARN, ti.ERROR or ti.CRITICAL; raises ValueError for
    others.

        ti.set_logging_level(ti.ERROR)
        print(ti.is_logging_effective(ti.WARN))  # prints: False
    """
    global log_level
    log_level = _level(level)


def is_logging_effective(level):
    """Whether messages of a level are shown.

    level: a level, as for `ti.set_logging_level`.

        ti.set_logging_level(ti.INFO)
        print(ti.is_logging_effective(ti.WARN))  # prints: True
    """
    return LOG_LEVELS.index(_level(level)) >= LOG_LEVELS.index(log_level)


def _warn(text):
    if not is_logging_effective("warn"):
        return
    print(f"[Kiln] warning: {text}", file=sys.stderr)


# --- The compile service ------------------------------------------------------------------------

_sessions = {}
transformed = 0  # instances that the front end made


def session():
    """The session that compiles; connects to nothing before the first compilation."""
    key = (
        *variables("KILN_HOME", "KILN_SERVER", "KILN_BIN"),
        # Cached entries lack the stages that print_ir shows and the counters of KILN_STAT.
        bool(cfg.offline_cache and not cfg.print_ir and not stat.wanted),
    )
    found = _sessions.get(key)
    if found is None:
        # Two threads may each make a session; both sessions work, and setdefault keeps one.
        found = _sessions.setdefault(key, _native.Session(*key))
        if os.environ.get("KILN_REQUIRE_HIT", "") not in ("", "0"):
            provided.enforce_hits()
    return found


def variables(*names):
    """The values of environment variables, "" for those that are not set. Raises ValueError for one
    that is not UTF-8, which messages between processes cannot hold; for KILN_HOME also if the home
    follows from such a HOME."""
    values = [os.environ.get(name, "") for name in names]
    for name, value in zip(names, values):
        if name == "KILN_HOME" and not value:
            name, value = "HOME", os.environ.get("HOME", "")
        try:
            value.encode()
        except UnicodeEncodeError:
            advice = ": set KILN_HOME to a directory" if name == "HOME" else ""
            raise say.variable_is_not_utf8(name=name, value=ascii(value), advice=advice) from None
    return values


def session_stats():
    """Totals of this process: "kernels", "hits", "misses", "seconds_saved", and "transformed", the
    kernels that went through the front end. The other kernels came from warm records."""
    total = {"kernels": 0, "hits": 0, "misses": 0, "seconds_saved": 0.0, "transformed": transformed}
    for one in list(_sessions.values()):  # another thread may make one
        for name, value in one.stats().items():
            total[name] += value
    return total


__all__ = ["init", "reset", "sync"]
