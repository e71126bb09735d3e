"""Errors of `ti.init` and of the program as a whole."""

from ..errors import TaichiRuntimeError

ROWS = {
    "name_not_supported": (TaichiRuntimeError, "ti.{name} is not supported by Kiln yet"),
    # The class is the reference's.
    "default_type_not_allowed": (AssertionError, "{name} must be {allowed}, not {dtype}"),
    "program_of_other_encoding": (SyntaxError, "{file}, line {line}: this is not {encoding}"),
    "arch_falls_back": (str, "Arch={names} is not supported, falling back to {taken}{reason}"),
    "arch_must_one_ti_cpu_ti": (
        TypeError,
        "arch must be one of ti.cpu, ti.cuda, ti.gpu, …, got {candidate!r}",
    ),
    "arch_not_supported": (RuntimeError, "Arch={names} is not supported{reason}"),
    "cannot_maybe_you_forgot_call_ti": (
        TaichiRuntimeError,
        "Cannot {what}, maybe you forgot to call `ti.init()` first?",
    ),
    "cpu_level_above_host": (
        ValueError,
        "{source}={level}: this machine is {host} and cannot run such code; `kiln warm` can "
        "compile it here for others",
    ),
    "default_up_always_unsigned_type_default_ip_please": (
        KeyError,
        "'default_up' is always the unsigned type of 'default_ip'. Please set "
        "'default_ip' instead.",
    ),
    "file_is_not_regular": (OSError, "{path} is not a regular file"),
    "environment_of_wrong_form": (
        ValueError,
        "Environment variable {variable}={text}: {needed} expected",
    ),
    "environment_overridden": (
        str,
        'Environment variable {variable}={text} overridden by ti.init argument "{name}"',
    ),
    "invalid_ti__should_or": (ValueError, "Invalid {name}={text}, should be 32 or 64"),
    "logging_level_one_got": (
        ValueError,
        "a logging level is one of {levels}; got {level!r}.{hint}",
    ),
    "unknown_check_overflow": (
        ValueError,
        "check_overflow={value!r}: one of 'print', 'error', 'off' expected",
    ),
    "option_of_other_type": (TypeError, "{name}={value!r}: {expected} expected"),
    "no_number_of_threads": (
        ValueError,
        "cpu_max_num_threads={value}: a number of threads expected, or 0 for one per core",
    ),
    "unknown_lanes": (ValueError, "lanes={value!r}: one of 'auto', 'off', 'on' expected"),
    "no_number_of_gigabytes": (
        ValueError,
        "{name}={value}: expected a number of gigabytes, or 0",
    ),
    "no_fraction": (ValueError, "{name}={value}: expected a number from 0 to 1"),
    "no_such_cpu_level": (ValueError, "{source}={level!r}: one of {levels} expected"),
    "require_version_should_formatted_following_pep_and": (
        Exception,
        "The require_version should be formatted following PEP 440, and includes "
        "major, minor, and patch number, e.g., major.minor.patch.",
    ),
    "taichi_version_mismatch_required_version_installed": (
        Exception,
        "Taichi version mismatch. Required version >= {major}.{minor}.{patch}, "
        "installed version = {installed}.",
    ),
    "unknown_architecture_name": (TaichiRuntimeError, "Unknown architecture name: {name}.{hint}"),
    "unrecognized_keyword_argument_s_for_ti": (
        KeyError,
        "Unrecognized keyword argument(s) for ti.init: {names}.{hint}",
    ),
    "variable_is_not_utf8": (ValueError, "{name}={value}: expected a name in UTF-8{advice}"),
    "no_stream": (
        TypeError,
        "ti.cuda.stream takes the handle of a CUDA stream, or an object with `cuda_stream` or "
        "`__cuda_stream__`, got {kind}",
    ),
    "stream_of_other_protocol": (
        TypeError,
        "`__cuda_stream__` of a stream should give (0, handle), got {given!r}",
    ),
    "stream_out_of_range": (ValueError, "{handle} is the handle of no CUDA stream"),
    "stream_without_cuda": (
        TaichiRuntimeError,
        "ti.cuda.stream is for kernels on a CUDA device, and those of the program run on the CPU",
    ),
}
