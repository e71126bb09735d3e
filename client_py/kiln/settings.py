"""The current settings: the options of `ti.init`, shown by `ti.cfg`.

This module imports no types, because the scalar types read the settings.
"""

from . import _native, arch

# The options of `init` and their defaults. The names are the reference's; options that have no
# effect in Kiln are accepted and stored.
OPTIONS = {
    "ad_stack_size": 0,
    "ad_tape_GB": 0.0,
    "advanced_optimization": True,
    "allow_nv_shader_extension": True,
    "auto_mesh_local_default_occupacy": 4,
    "cache_loop_invariant_global_vars": True,
    "cfg_optimization": True,
    "check_out_of_bound": False,
    "cpu_block_dim_adaptive": True,
    "cpu_max_num_threads": 0,
    "cuda_stack_limit": 0,
    "debug": False,
    "default_cpu_block_dim": 32,
    "default_gpu_block_dim": 128,
    "demote_dense_struct_fors": True,
    "demote_no_access_mesh_fors": True,
    "detect_read_only": True,
    "device_memory_GB": 1.0,
    "device_memory_fraction": 0.0,
    "experimental_auto_mesh_local": False,
    "fast_math": True,
    "flatten_if": False,
    "force_scalarize_matrix": False,
    "gpu_max_reg": 0,
    "half2_vectorization": False,
    "kernel_profiler": False,
    "lower_access": True,
    "make_block_local": True,
    "make_cpu_multithreading_loop": True,
    "make_mesh_block_local": True,
    "make_thread_local": True,
    "max_block_dim": 1024,
    "mesh_localize_all_attr_mappings": False,
    "mesh_localize_from_end_mapping": False,
    "mesh_localize_to_end_mapping": True,
    "move_loop_invariant_outside_if": False,
    "num_compile_threads": 4,
    "offline_cache": True,
    "offline_cache_cleaning_factor": 0.25,
    "offline_cache_cleaning_policy": "lru",
    "offline_cache_file_path": "",
    "offline_cache_max_size_of_files": 104857600,
    "opt_level": 1,
    "optimize_mesh_reordered_mapping": True,
    "print_accessor_ir": False,
    "print_ir": False,
    "print_ir_dbg_info": False,
    "print_kernel_amdgcn": False,
    "print_kernel_asm": False,
    "print_kernel_llvm_ir": False,
    "print_kernel_llvm_ir_optimized": False,
    "print_preprocessed_ir": False,
    "print_struct_llvm_ir": False,
    "quant_opt_atomic_demotion": True,
    "quant_opt_store_fusion": True,
    "random_seed": 0,
    "real_matrix_scalarize": True,
    "saturating_grid_dim": 0,
    "simplify_after_lower_access": True,
    "simplify_before_lower_access": True,
    "timeline": False,
    "use_llvm": True,
    "verbose": True,
    "verbose_kernel_launches": False,
    "vk_api_version": "",
    # Options of the front end.
    "gdb_trigger": False,
    "log_level": "info",
    "print_full_traceback": False,
    "short_circuit_operators": True,
    "unrolling_limit": 32,
    # The reference removed these, but old programs still pass them.
    "dynamic_index": True,
    "packed": True,
    # Options that only Kiln has.
    "check_overflow": "print",
    "cpu_level": "",
    "cuda_device": 0,
    "deterministic": False,
    "lanes": "auto",
    "snode_memory_GB": 0.0,
}

FRONT_END = (
    "gdb_trigger",
    "log_level",
    "print_full_traceback",
    "short_circuit_operators",
    "unrolling_limit",
)

# Values of `check_overflow` and their names in proto/options.proto.
ON_OVERFLOW = {"print": "OVERFLOW_PRINTS", "error": "OVERFLOW_FAILS", "off": "OVERFLOW_WRAPS"}

# The same of `lanes`.
LANES = {"auto": "LANES_WHERE_THEY_PAY", "off": "LANES_NEVER", "on": "LANES_WHERE_POSSIBLE"}

# The types that `float` and `int` mean by default, by the names of init's options.
_default_types = {}


class Config:
    """The current settings. There is one object per process, which `init` changes in place."""

    def __init__(self):
        self.set_defaults()

    def set_defaults(self):
        self.__dict__.update(OPTIONS)
        self.arch = arch.cpu
        self.__dict__.update(_default_types)

    def set_default_types(self, default_fp, default_ip):
        """Sets the default types. The scalar types call it once, because they import this
        module."""
        _default_types.update(default_fp=default_fp, default_ip=default_ip)
        self.__dict__.update(_default_types)

    def __dir__(self):
        hidden = (
            "ad_tape_GB",
            "cpu_level",
            "cuda_device",
            "deterministic",
            "lanes",
            "snode_memory_GB",
            "dynamic_index",
            "packed",
            *FRONT_END,
        )
        names = ("arch", "default_fp", "default_ip", "default_up", *OPTIONS)
        return sorted(set(names).difference(hidden))

    @property
    def default_up(self):
        return self.default_ip.unsigned

    def code_options(self):
        """The settings that can change code: the fields of CodeOptions (proto/options.proto).
        Settings that are named like a field are its value; those of other forms are said here."""
        names = [name for name in _native.code_option_names() if name in OPTIONS]
        named = {name: self.__dict__[name] for name in names}
        return {
            **named,
            "ad_stack_size": 0,  # there are no gradients
            "opt_level": 0 if self.opt_level == 0 else 3 if self.advanced_optimization else 1,
            "check_bounds": bool(self.debug or self.check_out_of_bound),
            "on_overflow": ON_OVERFLOW[self.check_overflow if self.debug else "print"],
            "lanes": LANES[self.lanes],
            "deterministic": bool(self.deterministic),
            "default_int": self.default_ip.scalar,
            "default_float": self.default_fp.scalar,
        }


cfg = Config()
