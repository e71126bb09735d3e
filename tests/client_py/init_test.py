"""Settings: options, environment, architectures, repeated init and reset."""

import copy
import gc
import re
import weakref

import pytest

REFERENCE_OPTIONS = (
    "ad_stack_size advanced_optimization cfg_optimization check_out_of_bound cpu_max_num_threads "
    "cuda_stack_limit debug demote_dense_struct_fors device_memory_GB device_memory_fraction "
    "fast_math flatten_if kernel_profiler log_level num_compile_threads offline_cache "
    "offline_cache_cleaning_policy opt_level print_ir print_preprocessed_ir random_seed "
    "real_matrix_scalarize short_circuit_operators unrolling_limit verbose dynamic_index packed"
).split()


@pytest.mark.parametrize("name", REFERENCE_OPTIONS)
def test_options_are_accepted(ti, name):
    value = getattr(ti.cfg, name)
    ti.init(ti.cpu, **{name: value})
    assert getattr(ti.cfg, name) == (value or getattr(ti.cfg, name))


def test_unknown_options_are_key_errors(ti):
    with pytest.raises(KeyError, match="Unrecognized keyword argument.*fast_meth"):
        ti.init(fast_meth=True)
    with pytest.raises(KeyError, match="default_up"):
        ti.init(default_up=ti.u64)


def test_defaults_return_at_every_init(ti):
    ti.init(default_fp=ti.f64, default_ip=ti.i64, debug=True)
    assert ti.cfg.default_fp is ti.f64 and ti.cfg.default_up is ti.u64 and ti.cfg.debug
    ti.init()
    assert ti.cfg.default_fp is ti.f32 and ti.cfg.default_ip is ti.i32 and not ti.cfg.debug


def test_environment(ti, monkeypatch, capsys):
    monkeypatch.setenv("TI_DEBUG", "1")
    monkeypatch.setenv("TI_DEFAULT_FP", "64")
    monkeypatch.setenv("TI_CPU_MAX_NUM_THREADS", "1")
    ti.init()
    assert ti.cfg.debug is True and ti.cfg.default_fp is ti.f64
    assert ti.cfg.cpu_max_num_threads == 1
    ti.init(debug=False)
    assert ti.cfg.debug is False
    assert 'TI_DEBUG=1 overridden by ti.init argument "debug"' in capsys.readouterr().err
    monkeypatch.setenv("TI_DEFAULT_FP", "16")
    with pytest.raises(ValueError, match="should be 32 or 64"):
        ti.init()


def test_architectures(ti, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # of machines that have some
    assert ti.cpu == ti.x64 or ti.cpu == ti.arm64
    assert copy.deepcopy(ti.cuda) == ti.cuda != ti.vulkan and ti.cpu.name in ("x64", "arm64")
    assert isinstance(ti.gpu, list) and len(ti.gpu) == 8 and len(set(ti.gpu)) == 8
    for arch in (ti.gpu, ti.cuda, [ti.vulkan, ti.cpu]):
        ti.init(arch)
        assert ti.cfg.arch == ti.cpu
    assert capsys.readouterr().err.count("falling back to CPU") == 2
    with pytest.raises(RuntimeError, match="not supported"):
        ti.init(ti.cuda, enable_fallback=False)


def test_reset_frees_fields_that_no_kernel_has_seen(ti):
    field = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(field)
    field[1] = 2
    gone = weakref.ref(field)
    del field
    ti.init(ti.cpu)
    gc.collect()
    assert gone() is None


def test_required_version(ti):
    ti.init(require_version="1.6.0")
    ti.init(require_version="1.7.4rc1")
    for version in ("1.8.0", "2.0.0"):
        with pytest.raises(Exception, match="version mismatch"):
            ti.init(require_version=version)
    assert ti.__version__ == (1, 7, 4)


def test_kilns_own_version_is_in_the_form_of_pep_440(ti):
    assert re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?", ti.kiln_version)


def test_reset_without_init_and_many_inits(ti):
    ti.reset()
    ti.reset()
    for _ in range(300):
        ti.init(ti.cpu)
        ti.field(ti.f32, 4)[0] = 1


def test_any_integer_is_a_seed(ti):
    @ti.kernel
    def number() -> ti.f32:
        return ti.random()

    def first(seed):
        ti.init(ti.cpu, random_seed=seed)
        return number()

    assert first(-1) == first(-1) == first(2**64 - 1) != first(1)


def test_options_of_other_types_are_named(ti):
    cases = [
        ("an integer", {"random_seed": ["a", None, 1.5], "cpu_max_num_threads": ["b", 2.5]}),
        ("an integer", {"saturating_grid_dim": ["x"], "opt_level": ["2"]}),
        ("True or False", {"debug": ["False"], "fast_math": ["off", [0]], "print_ir": ["0"]}),
        ("a number", {"device_memory_GB": ["1", None], "snode_memory_GB": [[2]]}),
    ]
    for expected, options in cases:
        for name, values in options.items():
            for value in values:
                with pytest.raises(TypeError, match=f"{name}=.*: {expected} expected"):
                    ti.init(ti.cpu, **{name: value})
    for threads in (-2, 2**31):
        with pytest.raises(ValueError, match=f"cpu_max_num_threads={threads}: a number of threads"):
            ti.init(ti.cpu, cpu_max_num_threads=threads)
    with pytest.raises(Exception, match="require_version should be formatted"):
        ti.init(ti.cpu, require_version=1.7)


def test_options_of_wide_types(ti):
    import numpy as np

    ti.init(ti.cpu, debug=np.bool_(False), fast_math=1, offline_cache=None, random_seed=True)
    ti.init(ti.cpu, cpu_max_num_threads=np.int8(1))
    ti.init(ti.cpu, device_memory_GB=2, snode_memory_GB=np.float32(1))
    x = ti.field(ti.i32, 3)
    x.fill(2)
    assert x[1] == 2


def test_public_names(ti):
    names = [n for n in dir(ti) if not n.startswith("_")]
    assert {"init", "field", "kernel", "func", "Vector", "math", "ijkl", "sym_eig"} <= set(names)
    assert "errors" not in names and "cfg" not in names
    with pytest.raises(AttributeError, match="no attribute 'fild'"):
        ti.fild


def test_start_imports_little(run_python):
    """A start is some tens of milliseconds, so a module of 2 ms counts. The second run finds its
    kernel in a record."""
    program = """
import sys
site = set(sys.modules)  # some sites' own start-up imports much
import kiln as ti
ti.init(ti.cpu)
x = ti.field(ti.f32, 3)

@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i

fill(2)
assert x[2] == 4
print(*sorted(name for name in set(sys.modules) - site if not name.startswith("kiln")))
print(*sorted(name for name in sys.modules if name.startswith("kiln.frontend.")))
print(*sorted(name for name in sys.modules if name.startswith("kiln.diagnostics.")))
"""
    run_python(program)
    others, front_end, diagnostics = run_python(program).split("\n")[:3]
    small = {"_struct", "atexit", "errno", "math", "types", "zlib"}
    assert set(others.split()) <= small
    assert front_end == "kiln.frontend.source"
    assert diagnostics == ""
